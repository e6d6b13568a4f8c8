"""Downloads of a decision: memo as HTML and PDF, and the frozen record as JSON."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from core.services.house import House
from core.services.memo import memo_of
from core.services.memo_html import memo_html
from core.services.memo_pdf import memo_pdf


def decision_exports(house: House, entry: dict[str, Any]) -> None:
    """The files are written only when somebody asks for one."""
    name = f"decision-{entry['number']}"
    with st.container(horizontal=True, key="decision-exports"):
        st.download_button(
            "Memo, HTML", lambda: memo_html(memo_of(entry)), file_name=f"{name}.html", mime="text/html", on_click="ignore", key="memo-html"
        )
        st.download_button(
            "Memo, PDF",
            lambda: memo_pdf(memo_of(entry)),
            file_name=f"{name}.pdf",
            mime="application/pdf",
            on_click="ignore",
            key="memo-pdf",
        )
        record = {key: value for key, value in entry.items() if key not in ("noted_at", "standing", "stale")}
        st.download_button(
            "Record, JSON",
            json.dumps({**record, "at": entry["noted_at"].isoformat()}, ensure_ascii=False, indent=1),
            file_name=f"{name}.json",
            mime="application/json",
            on_click="ignore",
            key="record-json",
        )
