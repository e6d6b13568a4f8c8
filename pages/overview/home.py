"""Home: what waits for you, what was decided, and the two ways to begin."""

from __future__ import annotations

import streamlit as st

from core.ui.components import home as part
from core.ui.components.links import go
from core.ui.guard import enter
from core.ui.problem import shown

house = enter("Draftledger", "Price the bet. Keep the receipt.")

with shown():
    with st.container(horizontal=True):
        if st.button("Propose a change", type="primary", key="home-propose"):
            go("propose")
        if st.button("Start a run…", key="home-start", help="A run belongs to a proposal: say what changes, then start its sweep."):
            go("propose")
    left, right = st.columns(2)
    with left, st.container(border=True):
        st.subheader("Waiting for you", anchor=False)
        part.waiting(house)
    with right, st.container(border=True):
        st.subheader("Last decisions", anchor=False)
        part.last_decisions(house)
    with left, st.container(border=True):
        st.subheader("Boxes", anchor=False)
        part.boxes_state(house)
    with right, st.container(border=True):
        st.subheader("Best cell per row", anchor=False)
        part.small_matrix(house)
