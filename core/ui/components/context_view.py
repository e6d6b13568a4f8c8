"""Acceptance against context length on the receipt: how far the head's guesses hold as the text before them grows."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.charts.context import Cloud, context_figure
from core.domain.head_calibration import Heard
from core.services.head_calibration import acceptance_by_context, band_words
from core.services.house import House
from core.ui.components.figures import NOT_APPLICABLE, NOT_RECORDED
from core.ui.components.theme import is_dark


def acceptance_against_context(house: House, view: dict[str, Any]) -> None:
    """One mark an answer, and the same in bands with their counts."""
    found = acceptance_by_context(house, view["run"]["run_id"], view["n_max"], view["c"])
    if found["state"] != "ok":
        st.text(f"{NOT_APPLICABLE if found['state'] == 'not_applicable' else NOT_RECORDED} {found['text']}")
        return
    clouds = [_cloud("this cell", found["own"], is_own=True)]
    if found["others"]:
        clouds.append(_cloud("same head elsewhere", found["others"], is_own=False))
    figure = context_figure(clouds, dark=is_dark())
    st.plotly_chart(figure, key="receipt-context", config={"displayModeBar": False}, alt=found["text"])
    for band in found["bands"]:
        st.text(band_words(band))
    st.caption(
        "An observation: texts of different kinds differ in more than their length. Same head: model file, draft file, engine build and"
        " n_max are the same; workload, box, concurrency and context size may differ. Only counted repetitions."
    )


def _cloud(name: str, heard: list[tuple[Heard, str]], *, is_own: bool) -> Cloud:
    notes = [f"{one.context:,} tokens: {one.accepted} of {one.proposed} proposed = {one.share:.0%} · {where}" for one, where in heard]
    return Cloud(name, [one.context for one, _ in heard], [one.share for one, _ in heard], notes, is_own)
