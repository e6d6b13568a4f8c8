"""Runs as blocks of three lines, newest first, fifty a page; each title is the door to its run. Nothing is scrolled sideways."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.run import short
from core.services.house import House
from core.ui.components.figures import literal, when
from core.ui.components.links import run_link
from core.ui.components.run_words import last_word, state_badge

PAGE = 50
LINK_CHARS = 42  # a link does not wrap: longer ones are cut on a phone


def run_list(house: House, rows: list[dict[str, Any]]) -> None:
    """All rows of the page chosen below the list."""
    pages = max(1, -(-len(rows) // PAGE))
    chosen = min(pages, st.session_state.get("runs-page", 1))
    names = {box.box_id: box.name for box in house.store.boxes.all()}
    with st.container(gap="medium", key="runs"):
        for run in rows[(chosen - 1) * PAGE : chosen * PAGE]:
            _block(run, names.get(run["box_id"], run["box_id"]))
    if pages > 1:
        st.pagination(pages, key="runs-page")


def _block(run: dict[str, Any], box: str) -> None:
    facts = (box, run["request"]["model"], when(run["created_at"]), f"by {run['requested_by']}")
    with st.container(gap=None):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            state_badge(run["state"])
            run_link(run["run_id"], cut(f"{short(run['run_id'])} · {run['title']}", LINK_CHARS))
        if len(run["title"]) > LINK_CHARS - 9:
            st.text(cut(run["title"], 200))
        st.caption(" · ".join(literal(cut(words, 80)) for words in facts))
        if last_word(run):
            st.text(cut(last_word(run), 200))


def cut(text: str, limit: int) -> str:
    """The text on one line, shortened."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
