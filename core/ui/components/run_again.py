"""Two buttons below a run that is over: go on where it was interrupted, or the same once more. Nothing runs again by itself."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.run import FINAL, new_run_id
from core.services.again import first_missing, repeat_run, resume_run
from core.services.house import House
from core.services.runs import list_runs
from core.ui.components.field_problems import told
from core.ui.components.links import run_link
from core.ui.components.person import person
from core.ui.components.run_words import state_word

_LABELS = {"by": "Your name (in the menu)"}


def run_again(house: House, run: dict[str, Any]) -> None:
    """The buttons, and doors to what was asked for again already."""
    goes_on, later = first_missing(house, run["run_id"]), _later(house, run["run_id"])
    over = {one["run_id"] for one in later if one["state"] in FINAL}
    with st.container(horizontal=True, vertical_alignment="center", key="run-again"):
        if goes_on is not None:
            _button(house, run["run_id"], "Resume", resume_run, over)
        _button(house, run["run_id"], "Repeat", repeat_run, over)
        st.caption(_words(run, goes_on))
    for one in later:
        word = "resumed" if one["request"].get("segment_of") else f"attempt {one['request']['attempt']}"
        run_link(one["run_id"], f"{word}: {state_word(one['state'])}")


def _button(house: House, run_id: str, label: str, start: Any, over: set[str]) -> None:
    """The new run's id is minted when the button is shown and stays until that run is over: a second click asks for the same run."""
    slot = f"again-{label}-{run_id}"
    if st.session_state.get(slot) in {None, *over}:
        st.session_state[slot] = new_run_id()
    new_id, is_started = st.session_state[slot], False
    if st.button(label, key=f"{label.lower()}-run"):
        with told(_LABELS):
            start(house, new_id, run_id, who=person())
            is_started = True
    if is_started:
        st.rerun()


def _words(run: dict[str, Any], goes_on: int | None) -> str:
    if goes_on is None:
        return "Repeat asks for the same sweep once more."
    return (
        f"Resume goes on from n={goes_on} as a new run; the baseline is measured anew, since a speed-up is taken within one run. "
        "Repeat asks for the whole sweep once more."
    )


def _later(house: House, run_id: str) -> list[dict[str, Any]]:
    return [run for run in list_runs(house) if run_id in (run["request"].get("segment_of"), run["request"].get("repeat_of"))]
