"""The short field worksheet on the page: seven questions and what is known, and the same as a page to print."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.field_sheet import UNPRICED
from core.services.field_sheet import field_questions, field_sheet_html
from core.services.house import House
from core.ui.components.download import download


def field_sheet(house: House, view: dict[str, Any]) -> None:
    """Closed until somebody asks; the download is one HTML page without scripts."""
    questions = field_questions(view)
    answered = sum(not one["is_open"] for one in questions)
    with st.expander(f"Field worksheet: {answered} of {len(questions)} questions answered", key="field-sheet", icon=":material/print:"):
        for number, one in enumerate(questions, 1):
            st.markdown(f"**{number}. {one['question']}**")
            for line in one["answers"]:
                st.text(line)
            if one["is_open"]:
                st.text("○ not answered yet")
        st.caption(UNPRICED)
        own = view["worksheet"]["worksheet_id"]
        download(
            house,
            "Download to print",
            lambda: field_sheet_html(house, view),
            what=("field sheet", own),
            name=f"field-worksheet-{own}.html",
            mime="text/html",
            key="field-sheet-download",
        )
