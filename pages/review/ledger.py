"""Decisions, newest first, and whether the chain that ties them together holds."""

import streamlit as st

from core.services.decisions import chain_problem, list_decisions
from core.ui.components.ledger_entry import ledger_entry
from core.ui.components.links import page_link
from core.ui.guard import enter
from core.ui.problem import shown

house = enter("Ledger", "What was decided, by whom, and on which evidence: frozen as it was, tied together by hashes.")
with shown():
    entries, broken = list_decisions(house), chain_problem(house)
if not entries:
    st.info("Nothing is decided yet. A decision is taken on a worksheet.")
    page_link("worksheets", "Worksheets")
    st.stop()
if broken is None:
    st.success(f"The chain holds: all {len(entries)} entries fit their hashes." if len(entries) > 1 else "The chain holds.")
else:
    st.error(f"The chain is broken at entry {broken}: it, or what it rests on, was changed after it was recorded.")
for entry in entries:
    ledger_entry(entry)
