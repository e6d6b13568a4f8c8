"""One worksheet: the accounting table, its gates and suggestion, the sweep that fills it, what is typed in, the decision."""

import streamlit as st

from core.services.worksheets import show_worksheet
from core.ui.components.computed import computed
from core.ui.components.decision_form import decision_form, owner_typed
from core.ui.components.field_sheet import field_sheet
from core.ui.components.gate_list import gate_list, suggestion
from core.ui.components.links import page_link
from core.ui.components.own_log import both_sides
from core.ui.components.person import ask_name
from core.ui.components.sweep_panel import sweep_panel
from core.ui.components.worksheet_compare import compared
from core.ui.components.worksheet_head import worksheet_head
from core.ui.components.worksheet_history import comments_view, history_view
from core.ui.components.worksheet_merge import merge_views
from core.ui.components.worksheet_table import worksheet_table
from core.ui.components.worksheet_traffic import traffic
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
is_open = not view["decisions"] and not view["worksheet"]["body"].get("reference")
if is_open:
    ask_name()
merge_views(house, view)
if is_open or view["runs"]:
    sweep_panel(house, view)
    compared(house, view)
worksheet_table(view["fields"], (house, view) if is_open else None, key="fields")
both_sides(view["log_readings"])
suggestion(view)
traffic(house, view)
st.subheader("Gates", anchor=False)
gate_list(view["gates"], key="gates")
decision_form(house, view)
field_sheet(house, view)
history_view(house, view)
comments_view(house, view)
computed("speedup", "a", "h", "step", "break_even", "split", "noise")
