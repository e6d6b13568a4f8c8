"""Home: what waits for you, what was decided, and how to begin."""

from __future__ import annotations

import streamlit as st

from core.services.ledger import ledger_entries
from core.services.waiting import is_new_house
from core.ui.components import home as part
from core.ui.components.links import go
from core.ui.components.person import person
from core.ui.guard import enter
from core.ui.problem import shown

house = enter("Draftledger", "Price the bet. Keep the receipt.")

with shown():
    is_new = is_new_house(house)
    if is_new:
        part.first_steps()
    with st.container(horizontal=True):
        if st.button("Propose a change", type="primary", key="home-propose"):
            go("propose")
        if not is_new and st.button("Open worksheets", key="home-worksheets"):
            go("worksheets")
    entries = ledger_entries(house)
    left, right = st.columns(2)
    with left, st.container(border=True):
        st.subheader("Waiting for you", anchor=False)
        part.stale_decisions(entries)
        part.waiting(house, person())
    with right, st.container(border=True):
        st.subheader("Last decisions", anchor=False)
        part.last_decisions(entries)
    with left, st.container(border=True):
        st.subheader("Boxes", anchor=False)
        part.boxes_state(house)
    with right, st.container(border=True):
        st.subheader("Best cell per row", anchor=False)
        part.small_matrix(house)
