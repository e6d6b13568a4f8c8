"""Runs as lines, newest first, fifty a page; each title is the door to its run."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.run import short
from core.services.house import House
from core.ui.components.figures import when
from core.ui.components.links import run_link
from core.ui.components.run_words import last_word, state_badge

PAGE = 50
_HEAD = ((1, "state"), (4, "run"), (1, "box"), (1, "model"), (2, "started"), (1, "by"), (2, "last word"))


def run_list(house: House, rows: list[dict[str, Any]]) -> None:
    """All rows of the page chosen below the list."""
    pages = max(1, -(-len(rows) // PAGE))
    chosen = min(pages, st.session_state.get("runs-page", 1))
    names = {box.box_id: box.name for box in house.store.boxes.all()}
    grid = st.grid(12, wrap=False, min_column_width=66, gap="xxsmall", key="runs")
    for span, word in _HEAD:
        with grid.cell(column_span=span):
            st.caption(word)
    for run in rows[(chosen - 1) * PAGE : chosen * PAGE]:
        _line(grid, run, names.get(run["box_id"], run["box_id"]))
    if pages > 1:
        st.pagination(pages, key="runs-page")


def _line(grid: Any, run: dict[str, Any], box: str) -> None:
    with grid.cell():
        state_badge(run["state"])
    with grid.cell(column_span=_HEAD[1][0]):
        run_link(run["run_id"], f"{short(run['run_id'])} · {cut(run['title'], 60)}")
    texts = (box, run["request"]["model"], when(run["created_at"]), run["requested_by"], last_word(run))
    for (span, _), words in zip(_HEAD[2:], texts, strict=True):
        with grid.cell(column_span=span):
            st.text(cut(words, 120))


def cut(text: str, limit: int) -> str:
    """The text on one line, shortened."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
