"""Price explorer: what a step costs and commits, typed or taken from a cell, and what that returns."""

from __future__ import annotations

import streamlit as st

from core.domain.explorer import what_if
from core.ui.components import price_form as form
from core.ui.components import price_view as view
from core.ui.components.computed import computed
from core.ui.guard import enter
from core.ui.problem import shown

house = enter("Price explorer", "What if: the cost of a step and the tokens it commits, priced by the same arithmetic as every cell.")

form.seed(house)
found = form.outcome()
ledger = view.ledger_of_outcome(found)
view.sentence(found, ledger)
view.origin_line()
with shown():
    rows = form.rows_of(house)
with st.container(border=True):
    form.cell_choice(house, rows)
    form.inputs(found)
if ledger:
    view.figures(ledger)
with st.container(border=True):
    st.markdown("**What if**")
    form.what_ifs(found)
    assumed = what_if(found)
    view.assumption(found, assumed)
view.curves(found, ledger, form.row_taken_from(rows), assumed)
form.write_address()
computed("inequality", "a", "published_a", "h", "step", "break_even")
