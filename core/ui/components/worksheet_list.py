"""Worksheets as lines, newest first, fifty a page; each title is the door to its worksheet."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.run import FINAL
from core.ui.components.figures import when
from core.ui.components.links import worksheet_link
from core.ui.components.run_list import cut

PAGE = 50
_HEAD = ((4, "worksheet"), (2, "model"), (2, "stands"), (2, "proposed"), (2, "by"))


def worksheet_list(rows: list[dict[str, Any]]) -> None:
    """All rows of the page chosen below the list."""
    pages = max(1, -(-len(rows) // PAGE))
    chosen = min(pages, st.session_state.get("worksheets-page", 1))
    grid = st.grid(12, wrap=False, min_column_width=66, gap="xxsmall", key="worksheets")
    for span, word in _HEAD:
        with grid.cell(column_span=span):
            st.caption(word)
    for row in rows[(chosen - 1) * PAGE : chosen * PAGE]:
        sheet = row["worksheet"]
        with grid.cell(column_span=4):
            worksheet_link(sheet["worksheet_id"], cut(sheet["title"], 80))
        for (span, _), words in zip(
            _HEAD[1:], (sheet["body"]["model"], stands(row), when(sheet["created_at"]), sheet["created_by"]), strict=True
        ):
            with grid.cell(column_span=span):
                st.text(cut(words, 60))
    if pages > 1:
        st.pagination(pages, key="worksheets-page")


def stands(row: dict[str, Any]) -> str:
    """In words: decided, running, measured, or nothing yet."""
    if row["decision"]:
        return f"decided: {row['decision']['verdict']}"
    if row["run"] is None:
        return "nothing measured yet"
    state = row["run"]["state"]
    return "measured, to be decided" if state == "done" else f"sweep {state}" if state not in FINAL else f"last sweep {state}"
