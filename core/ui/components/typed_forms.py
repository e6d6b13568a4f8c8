"""What no run can tell, typed in with a name: suite scores, fit, failure modes, notes; and which measured n is the candidate."""

from __future__ import annotations

import re
from typing import Any

import streamlit as st

from core.domain.worksheet import FIELDS, SUITE_BAND
from core.errors import InvalidInput
from core.services.house import House
from core.services.worksheets import SIDES, choose_n_max, type_suite, type_text
from core.ui.components.field_problems import told
from core.ui.components.name_field import follow_person
from core.ui.components.person import person

LABELS = {"suite": "Suite", "scores": "Scores", "band": "Band ±", "by": "Typed in by", "text": "Text", "field": "Field", "n_max": "n_max"}
_TEXTS = {"fit (memory headroom, failed flags), baseline": ("fit", "baseline"), "fit, candidate": ("fit", "candidate"),
          "new failure modes": ("failure_modes", "candidate")}  # fmt: skip
_NOTES = {f"note on {label}": (key, "note") for key, label in FIELDS.items()}


def typed_forms(house: House, view: dict[str, Any]) -> None:
    """The forms side by side, closed until somebody opens them."""
    worksheet_id = view["worksheet"]["worksheet_id"]
    measured = sorted(n for n, cell in view["steps"].items() if n and cell["n"])
    if len(measured) > 1:
        _candidate(house, worksheet_id, measured, view["candidate_n"])
    scores, texts = st.columns(2)
    with scores, st.expander("Type in suite scores", key="suite-scores", expanded=False):
        _suite(house, worksheet_id)
    with texts, st.expander("Type in fit, failure modes, notes", key="typed-texts", expanded=False):
        _text(house, worksheet_id)


def _kept(sentence: str) -> None:
    st.toast(sentence)
    st.rerun()


def _candidate(house: House, worksheet_id: str, measured: list[int], shown_n: int | None) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        n_max = st.selectbox(
            "Candidate column shows n_max",
            measured,
            index=measured.index(shown_n) if shown_n in measured else 0,
            key="candidate-n",
            width=240,
        )
        is_done = False
        if st.button("Show this n", key="choose-n", disabled=n_max == shown_n):
            with told(LABELS):
                choose_n_max(house, worksheet_id, n_max, by=person())
                is_done = True
    if is_done:
        _kept(f"The candidate column shows n_max {n_max}.")


def _suite(house: House, worksheet_id: str) -> None:
    is_done = False
    follow_person("suite-by")
    with st.form("suite-form", border=False):
        side = st.radio("Side", SIDES, horizontal=True, key="suite-side")
        suite = st.text_input(LABELS["suite"], key="suite-name", placeholder="tool-calls v3")
        scores = st.text_input(
            LABELS["scores"], key="suite-values", placeholder="40, 47", help="One number a suite run, separated by commas."
        )
        band = st.number_input(LABELS["band"], value=SUITE_BAND, key="suite-band", help="Noise of one suite run, in points.")
        by = st.text_input(LABELS["by"], key="suite-by")
        if st.form_submit_button("Save scores", key="save-scores"):
            with told(LABELS):
                values = {"suite": suite, "scores": numbers(scores), "band": band}
                type_suite(house, worksheet_id, side, values, by=by)
                is_done = True
    if is_done:
        _kept(f"Scores of the {side} are kept.")


def numbers(text: str) -> list[float]:
    """“40, 47” → [40.0, 47.0]. Raises InvalidInput naming what is no number."""
    found = []
    for part in (part for part in re.split(r"[,;\s]+", text) if part):
        try:
            found.append(float(part))
        except ValueError:
            raise InvalidInput({"scores": f"have to be numbers separated by commas; “{part[:40]}” is none."}) from None
    if not found:
        raise InvalidInput({"scores": "are needed, one number a suite run."})
    return found


def _text(house: House, worksheet_id: str) -> None:
    is_done = False
    choices = _TEXTS | _NOTES
    follow_person("text-by")
    with st.form("text-form", border=False):
        what = st.selectbox("Field", list(choices), key="text-field")
        text = st.text_area(LABELS["text"], key="text-value", height=80)
        by = st.text_input(LABELS["by"], key="text-by")
        if st.form_submit_button("Save text", key="save-text"):
            with told(LABELS):
                type_text(house, worksheet_id, *choices[what], text, by=by)
                is_done = True
    if is_done:
        _kept("The text is kept.")
