"""Downloads of a decision: memo as HTML and PDF, the frozen record as JSON, the recipe it was about as TOML."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from core.domain.file_name import download_name
from core.services.house import House
from core.services.ledger import decided_arm
from core.services.memo import memo_of
from core.services.memo_html import memo_html
from core.services.memo_pdf import memo_pdf
from core.ui.components.cell_notes import recipe_button


def decision_exports(house: House, entry: dict[str, Any]) -> None:
    """The memos are written only when somebody asks for one."""
    name = f"decision-{entry['number']}"
    with st.container(horizontal=True, key="decision-exports"):
        st.download_button(
            "Memo, HTML",
            lambda: memo_html(memo_of(entry)),
            file_name=download_name(f"{name}.html"),
            mime="text/html",
            on_click="ignore",
            key="memo-html",
        )
        st.download_button(
            "Memo, PDF",
            lambda: memo_pdf(memo_of(entry)),
            file_name=download_name(f"{name}.pdf"),
            mime="application/pdf",
            on_click="ignore",
            key="memo-pdf",
        )
        record = {key: value for key, value in entry.items() if key not in ("noted_at", "standing", "stale")}
        st.download_button(
            "Record, JSON",
            json.dumps({**record, "at": entry["noted_at"].isoformat()}, ensure_ascii=False, indent=1),
            file_name=download_name(f"{name}.json"),
            mime="application/json",
            on_click="ignore",
            key="record-json",
        )
        arm = decided_arm(entry)
        if arm:
            recipe_button(house, arm[0], arm[1:], "Recipe, TOML")
