"""Somebody else saved a field while this person typed into it: both texts and what stood before, side by side, and one choice."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.revisions import place_words, words_of
from core.services.house import House
from core.services.worksheet_edits import MINE, THEIRS, merge, waiting_to_merge
from core.ui.components.field_problems import told
from core.ui.components.figures import literal, when
from core.ui.components.person import person

LABELS = {"text": "Merged text", "by": "Your name (in the menu)"}


def merge_views(house: House, view: dict[str, Any]) -> None:
    """One box a field that waits for this person; nothing where nothing does."""
    worksheet_id = view["worksheet"]["worksheet_id"]
    for waits in waiting_to_merge(house, worksheet_id, who=person()) if person() else []:
        with st.container(border=True, key=f"merge-{waits['mine']['entry']}"):
            _one(house, worksheet_id, waits)


def _one(house: House, worksheet_id: str, waits: dict[str, Any]) -> None:
    mine, theirs, base = waits["mine"], waits["theirs"], waits["base"]
    place = place_words(mine["field"], mine["side"])
    st.warning(f"Two people changed “{literal(place)}”. Both texts are kept; choose what shall stand.", icon=":material/call_split:")
    for column, (head, entry) in zip(st.columns(3), (("theirs", theirs), ("mine", mine), ("before", base)), strict=True):
        with column:
            st.caption(f"{head}: {literal(entry['typed_by'])}, {when(entry['noted_at'])}" if entry else f"{head}: nothing was there")
            st.text(words_of(entry["value"]) if entry else "·")
    _choice(house, worksheet_id, mine, theirs)


def _choice(house: House, worksheet_id: str, mine: dict[str, Any], theirs: dict[str, Any]) -> None:
    key, how, text = f"merge-{mine['entry']}", "", ""
    if isinstance(mine["value"], str):
        text = st.text_area(LABELS["text"], value=f"{theirs['value']}\n{mine['value']}", key=f"{key}-text", height=100)
    with st.container(horizontal=True):
        how = THEIRS if st.button("Keep theirs", key=f"{key}-theirs") else how
        how = MINE if st.button("Keep mine", key=f"{key}-mine") else how
        if isinstance(mine["value"], str):
            how = "text" if st.button("Save merged text", type="primary", key=f"{key}-merged") else how
    is_done = False
    if how:
        with told(LABELS):
            merge(house, worksheet_id, mine["entry"], how, by=person(), seen=theirs["entry"], text=text)
            is_done = True
    if is_done:
        st.toast("Merged. Every version stays in the history.")
        st.rerun()
