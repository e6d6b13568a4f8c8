"""Decisions, newest first, with what each changed, whether it still holds, and whether the chain that ties them together does."""

import streamlit as st

from core.services.decisions import list_decisions
from core.services.ledger import ledger_entries
from core.services.ledger_check import verify_ledger
from core.ui.components.chain_state import chain_state
from core.ui.components.ledger_entry import ENTRIES, ledger_entry
from core.ui.components.ledger_filters import ledger_filters
from core.ui.components.links import page_link
from core.ui.components.not_shown import not_shown
from core.ui.guard import enter
from core.ui.problem import shown

house = enter("Ledger", "What was decided, by whom, and on which evidence: frozen as it was, tied together by hashes.")
with shown():
    everything, found = list_decisions(house), verify_ledger(house)
chain_state(found)
if not everything:
    st.info("Nothing is decided yet. A decision is taken on a worksheet.")
    page_link("worksheets", "Worksheets")
    st.stop()
wanted = ledger_filters(everything)
with shown():
    entries = ledger_entries(house, **wanted)
st.caption(f"{len(entries)} of {len(everything)} entries")
if not entries:
    st.text("No entry fits these filters.")
pages = max(1, -(-len(entries) // ENTRIES))
chosen = min(pages, st.session_state.get("ledger-page", 1))
for entry in entries[(chosen - 1) * ENTRIES : chosen * ENTRIES]:
    ledger_entry(entry)
if pages > 1:
    st.pagination(pages, key="ledger-page")
not_shown()
