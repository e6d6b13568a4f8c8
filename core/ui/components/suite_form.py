"""Scores of a tool suite, typed in with a name: several runs of one side at once, behind a small button in the suite's row."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.forms import plain_numbers
from core.domain.worksheet import SUITE_BAND
from core.services.house import House
from core.services.worksheets import SIDES, type_suite
from core.ui.components.autosave import seen_before
from core.ui.components.field_problems import told
from core.ui.components.figures import literal
from core.ui.components.name_field import follow_person

_TURN = "suite-turn"
LABELS = {"suite": "Suite", "scores": "Scores", "band": "Band ±", "by": "Typed in by"}


def suite_button(house: House, view: dict[str, Any], label: str) -> None:
    """The button and, behind it, the form."""
    with st.popover(label, type="tertiary", key="suite-scores"):
        _form(house, view)


def _form(house: House, view: dict[str, Any]) -> None:
    worksheet_id, is_done = view["worksheet"]["worksheet_id"], False
    values: dict[str, Any] = {}
    standing = {side: view["evidence"].typed.get(("suite", side), {}).get("entry", 0) for side in SIDES}
    seen = {side: seen_before(f"suite-seen-{worksheet_id}-{side}", number) for side, number in standing.items()}
    follow_person("suite-by")
    turn = st.session_state.setdefault(_TURN, 0)  # saved scores leave the field, so that they are not saved for the other side too
    with st.form("suite-form", border=False):
        side = st.radio("Side", SIDES, horizontal=True, key="suite-side")
        suite = st.text_input(LABELS["suite"], key="suite-name", placeholder="tool-calls v3")
        scores = st.text_input(
            LABELS["scores"], key=f"suite-values-{turn}", placeholder="40, 47", help="One number a suite run, separated by commas."
        )
        band = st.number_input(LABELS["band"], value=SUITE_BAND, key="suite-band", help="Noise of one suite run, in points.")
        by = st.text_input(LABELS["by"], key="suite-by")
        if st.form_submit_button("Save scores", key="save-scores"):
            with told(LABELS):
                values = {"suite": suite, "scores": plain_numbers("scores", scores), "band": band}
                type_suite(house, worksheet_id, side, values, by=by, over=seen[side])
                is_done = True
    if is_done:
        st.session_state[_TURN] = turn + 1
        kept = ", ".join(f"{one:g}" for one in values["scores"])
        st.toast(f"Kept for the {side}: {literal(kept)}.")
        st.rerun()
