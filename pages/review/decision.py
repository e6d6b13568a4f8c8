"""One decision: what it changed, whether it still holds, the evidence as it was, and its memo."""

import streamlit as st

from core.services.ledger import ledger_entry_of, summary_of
from core.ui.components.decision_exports import decision_exports
from core.ui.components.figures import literal
from core.ui.components.ledger_entry import delta_table, entry_head, frozen_evidence
from core.ui.components.links import page_link, worksheet_link
from core.ui.components.recheck import recheck_button
from core.ui.guard import enter
from core.ui.problem import shown
from core.ui.state import ENTRY

house = enter("Decision", "Why it was kept or rejected, what it changed, and whether it still holds.")
page_link("ledger", "← ledger")
number = st.query_params.get(ENTRY, "")
if not number.isdecimal():
    st.info("No entry was named. Choose one from the ledger.")
    st.stop()
with shown():
    entry = ledger_entry_of(house, int(number[:9]))
summary = summary_of(entry)
st.subheader(literal(f"Entry {entry['number']}: {summary['title']}"), anchor=False)
with st.container(border=True, key="decision-head"):
    entry_head(entry, summary)
    worksheet_link(entry["worksheet_id"], "Its worksheet ↗")
recheck_button(house, entry)
st.subheader("What changed", anchor=False)
delta_table(summary["deltas"], key="deltas")
if summary["old"]:
    st.text(
        f"Against the old production recipe “{summary['old']['label']}” ({summary['old']['provenance']}), apart from the priced change:"
    )
    delta_table(summary["old_deltas"], key="old-deltas")
decision_exports(house, entry)
st.subheader("Evidence as it was", anchor=False)
frozen_evidence(entry, summary)
