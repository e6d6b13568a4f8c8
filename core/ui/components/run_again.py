"""Two buttons below a run that is over: go on where it was interrupted, or the same once more. Nothing runs again by itself."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.run import new_run_id
from core.services.again import first_missing, repeat_run, resume_run
from core.services.house import House
from core.services.runs import list_runs
from core.ui.components.field_problems import told
from core.ui.components.links import run_link
from core.ui.components.person import person

_LABELS = {"by": "Your name (in the menu)"}


def run_again(house: House, run: dict[str, Any]) -> None:
    """The buttons, and doors to what was asked for again already."""
    goes_on = first_missing(house, run["run_id"])
    with st.container(horizontal=True, vertical_alignment="center", key="run-again"):
        if goes_on is not None:
            _button(house, run["run_id"], "Resume", resume_run)
        _button(house, run["run_id"], "Repeat", repeat_run)
        st.caption(_words(run, goes_on))
    for later in _later(house, run["run_id"]):
        word = "resumed" if later["request"].get("segment_of") else f"attempt {later['request']['attempt']}"
        run_link(later["run_id"], f"{word}: {later['state']}")


def _button(house: House, run_id: str, label: str, start: Any) -> None:
    """The new run's id is minted when the button is shown: a second click asks for the same run."""
    slot = f"again-{label}-{run_id}"
    new_id, is_started = st.session_state.setdefault(slot, new_run_id()), False
    if st.button(label, key=f"{label.lower()}-run"):
        with told(_LABELS):
            start(house, new_id, run_id, who=person())
            is_started = True
    if is_started:
        del st.session_state[slot]
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
