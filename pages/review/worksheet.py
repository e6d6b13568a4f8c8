"""One worksheet: the accounting table, its gates and suggestion, the sweep that fills it, what is typed in, the decision."""

import streamlit as st

from core.services.worksheets import show_worksheet
from core.ui.components.computed import computed
from core.ui.components.decision_form import decision_form, owner_typed
from core.ui.components.gate_list import gate_list, suggestion
from core.ui.components.links import page_link
from core.ui.components.own_log import both_sides
from core.ui.components.sweep_panel import sweep_panel
from core.ui.components.typed_forms import typed_forms
from core.ui.components.worksheet_head import worksheet_head
from core.ui.components.worksheet_table import worksheet_table
from core.ui.guard import enter
from core.ui.problem import shown
from core.ui.state import WORKSHEET

house = enter(
    "Worksheet", "What the change costs and brings, value by value, each with its origin; what is missing, and what may be decided."
)
worksheet_id = st.query_params.get(WORKSHEET, "")
if not worksheet_id:
    st.info("No worksheet was named. Choose one from the list.")
    page_link("worksheets", "Worksheets")
    st.stop()
with shown():
    view = show_worksheet(house, worksheet_id, owner=owner_typed() or None)
worksheet_head(house, view)
sweep_panel(house, view)
worksheet_table(view["fields"], None if view["decisions"] else view["worksheet"]["body"], key="fields")
both_sides(view["log_readings"])
if not view["decisions"]:
    typed_forms(house, view)
suggestion(view)
st.subheader("Gates", anchor=False)
gate_list(view["gates"], key="gates")
decision_form(house, view)
computed("speedup", "a", "h", "step", "break_even", "split", "noise")
