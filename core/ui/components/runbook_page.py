"""One decision in force as the person on call needs it: what to run, what not to, and why not."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.services.runbook import losing_words, winner_words
from core.ui.components.decision_form import verdict_badge
from core.ui.components.figures import when
from core.ui.components.ledger_entry import stale_list
from core.ui.components.links import decision_link, receipt_link


def runbook_page(page: dict[str, Any]) -> None:
    """The card."""
    entry = page["entry"]
    with st.container(border=True, key=f"runbook-{entry['number']}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            verdict_badge(entry["verdict"])
            st.text(f"{page['model']} · {page['title']}")
        st.text(f"Run: {winner_words(page)}")
        if page["winner"]:
            receipt_link(page["winner"]["cell_id"], "its receipt ↗")
        stale_list(page["stale"])
        st.caption("not run, on purpose")
        for cell in page["losing"]:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.text(losing_words(cell))
                receipt_link(cell["cell_id"], "receipt ↗", help=f"Receipt of n={cell['n_max']}")
        if not page["losing"]:
            st.text("no other draft length was measured")
        st.text(f"{entry['owner']} · {when(entry['noted_at'])}{': ' + entry['reason'] if entry['reason'] else ''}")
        decision_link(entry["number"], f"Entry {entry['number']}")
