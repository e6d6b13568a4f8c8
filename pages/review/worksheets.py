"""Every worksheet, newest first."""

import streamlit as st

from core.services.worksheets import list_worksheets
from core.ui.components.links import page_link
from core.ui.components.worksheet_list import worksheet_list
from core.ui.guard import enter
from core.ui.problem import shown

house = enter("Worksheets", "Every proposed change, newest first: what is measured, what is decided.")
with shown():
    rows = list_worksheets(house)
page_link("propose", "Propose a change", icon=":material/edit_note:")
if not rows:
    st.info("No worksheet yet. A proposal opens one.")
    st.stop()
worksheet_list(rows)
