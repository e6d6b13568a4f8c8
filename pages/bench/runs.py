"""Every run, newest first."""

import streamlit as st

from core.services.runs import list_runs
from core.ui.components.links import page_link
from core.ui.components.run_list import run_list
from core.ui.guard import enter
from core.ui.problem import shown

house = enter("Runs", "Every sweep that was asked for, newest first: where it stands and what it said last.")
with shown():
    rows = list_runs(house)
if not rows:
    st.info("No run yet. A sweep is started from a worksheet; a worksheet starts with a proposal.")
    page_link("propose", "Propose a change", icon=":material/edit_note:")
    st.stop()
run_list(house, rows)
