"""Whether the chain of decisions holds, in one line."""

from __future__ import annotations

from typing import Any

import streamlit as st


def chain_state(found: dict[str, Any]) -> None:
    """`found`: what `verify_ledger` answers. Silent while there is nothing to prove."""
    count = found["entries"]
    if not found["ok"]:
        where = f" at entry {found['first_bad']}" if found["first_bad"] else ""
        st.error(f"The chain is broken{where}.", icon=":material/link_off:")
        st.text(
            f"{found['why']}. The entries below are shown as they are stored now; decisions.jsonl and the snapshots beside it are kept."
        )
    elif count:
        fits = f"all {count} entries fit their hashes" if count > 1 else "the entry fits its hash"
        st.caption(f"✓ The chain holds: {fits}.", help=f"Head of the chain: {found['head']}")
