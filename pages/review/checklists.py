"""Failure modes, sweep protocol and the list for this week, ticked by what the store shows."""

import streamlit as st

from core.services.checklists import failure_modes_of, protocol_of, this_week
from core.services.worksheets import show_worksheet
from core.ui.components.checklist import checklist, chosen_worksheet
from core.ui.components.links import page_link
from core.ui.guard import enter
from core.ui.problem import shown
from core.ui.state import WORKSHEET

house = enter(
    "Checklists", "What usually goes wrong and what has to be done: ticked where a run, a cell or a score shows it, never by hand."
)
with shown():
    worksheet_id = chosen_worksheet(house, WORKSHEET)
    view = show_worksheet(house, worksheet_id) if worksheet_id else None
    modes, protocol, week = failure_modes_of(house, view), protocol_of(view), this_week(house)
left, right = st.columns(2)
with left:
    st.subheader("Failure modes", anchor=False)
    checklist(modes, key="modes")
with right:
    st.subheader("Sweep protocol", anchor=False)
    if view is None:
        st.text("The protocol is checked against a worksheet's run; there is no worksheet yet.")
        page_link("propose", "Propose a change", icon=":material/edit_note:")
    else:
        checklist(protocol, key="protocol")
    st.subheader("This week", anchor=False)
    checklist(week, key="week")
