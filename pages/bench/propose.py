"""Propose a change: the fields, then its worksheet."""

import streamlit as st

from core.services.worksheets import propose
from core.ui.components.field_problems import told
from core.ui.components.links import go
from core.ui.components.person import ask_name, person
from core.ui.components.propose_form import LABELS, forget_new_id, propose_form
from core.ui.guard import enter
from core.ui.state import WORKSHEET

house = enter(
    "Propose a change",
    "Say what should be turned on and where; a worksheet opens that shows what has to be measured before anyone decides.",
)
worksheet_id, values = propose_form(house)
ask_name()
opened = ""
if st.button("Open worksheet", type="primary", key="open-worksheet"):
    with told(LABELS):
        opened = propose(house, values, who=person(), worksheet_id=worksheet_id)
if opened:
    forget_new_id()
    go("worksheet", **{WORKSHEET: opened})
st.caption("Nothing runs yet: the sweep is started from the worksheet.")
