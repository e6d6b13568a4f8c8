"""Worksheets as blocks of three lines, newest first, fifty a page; each title is the door to its worksheet."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.run import FINAL
from core.ui.components.figures import literal, when
from core.ui.components.links import worksheet_link
from core.ui.components.run_list import LINK_CHARS, cut
from core.ui.components.run_words import state_word

PAGE = 50


def worksheet_list(rows: list[dict[str, Any]]) -> None:
    """All rows of the page chosen below the list."""
    pages = max(1, -(-len(rows) // PAGE))
    chosen = min(pages, st.session_state.get("worksheets-page", 1))
    with st.container(gap="medium", key="worksheets"):
        for row in rows[(chosen - 1) * PAGE : chosen * PAGE]:
            _block(row)
    if pages > 1:
        st.pagination(pages, key="worksheets-page")


def _block(row: dict[str, Any]) -> None:
    sheet = row["worksheet"]
    with st.container(gap=None):
        worksheet_link(sheet["worksheet_id"], cut(sheet["title"], LINK_CHARS))
        if len(sheet["title"]) > LINK_CHARS:
            st.text(cut(sheet["title"], 200))
        st.text(stands(row))
        facts = (sheet["body"]["model"], f"proposed {when(sheet['created_at'])} by {sheet['created_by']}")
        st.caption(" · ".join(literal(cut(words, 80)) for words in facts))


def stands(row: dict[str, Any]) -> str:
    """In words: decided, running, measured, or nothing yet."""
    if row["decision"]:
        return f"decided: {row['decision']['verdict']}"
    if row["run"] is None:
        return "nothing measured yet"
    state = row["run"]["state"]
    return "measured, to be decided" if state == "done" else f"sweep {state}" if state not in FINAL else f"last sweep {state_word(state)}"
