"""Boxes: what each has, which run holds it, and the form that adds one."""

import streamlit as st

from core.services.boxes import list_boxes
from core.ui.components.box_card import box_card
from core.ui.components.box_form import box_form
from core.ui.guard import enter
from core.ui.problem import shown

house = enter("Boxes", "The computers that sweeps run on: what each has, and whether it is free.")
with shown():
    rows = list_boxes(house)
for row in rows:
    box_card(house, row)
st.subheader("Add a box", anchor=False)
st.caption("Engine and models stay on the box; only what was measured comes back. The first step only reads the host's key.")
box_form(house)
