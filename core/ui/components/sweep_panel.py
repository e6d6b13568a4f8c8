"""Run sweep on a worksheet: one button while nothing runs, a live line and a link while something does, earlier runs below."""

from __future__ import annotations

from typing import Any, Literal

import streamlit as st

from core.domain.run import ACTIVE, DONE, FINAL, new_run_id, short
from core.services.house import House
from core.services.runs import show_run, start_run
from core.services.worksheets import sweep_values
from core.ui.components.field_problems import told
from core.ui.components.links import run_link
from core.ui.components.measure_form import noise_before
from core.ui.components.person import person
from core.ui.components.run_words import box_words, left_words, now_words, state_badge, state_word
from core.ui.components.stage_list import stage_list
from core.ui.problem import shown
from core.ui.state import NEW_RUN_ID

Kind = Literal["primary", "secondary", "tertiary"]
_LABELS = {"by": "Your name (in the menu)", "n_max": "Longest draft n_max", "production_c": "Production concurrency"}


def sweep_panel(house: House, view: dict[str, Any]) -> None:
    """The next step on a worksheet that is not decided."""
    active = next((run for run in view["runs"] if run["state"] in ACTIVE), None)
    if active:
        done = _done_stages(show_run(house, active["run_id"]))
        st.fragment(_live, run_every=1.0)(house, active["run_id"], done)
    elif not view["decisions"]:
        _button(house, view)
    for run in view["runs"]:
        if run["state"] in FINAL:
            run_link(run["run_id"], f"{short(run['run_id'])}: {state_word(run['state'])}")


def _button(house: House, view: dict[str, Any]) -> None:
    """The one thing to do while nothing is measured; afterwards a second sweep is a quiet offer."""
    is_first = not any(run["state"] == DONE for run in view["runs"])
    if is_first:
        noise_before(house, view["worksheet"]["body"])
    with st.container(key="run-sweep"):
        sweep_button(house, view, "Run sweep" if is_first else "Run sweep again", "panel", kind="primary" if is_first else "secondary")


def sweep_button(house: House, view: dict[str, Any], label: str, place: str, *, kind: Kind = "tertiary") -> None:
    """Starts the sweep the worksheet asks for. A second click, here or on another button, asks for the same run."""
    worksheet_id = view["worksheet"]["worksheet_id"]
    slot = f"{NEW_RUN_ID}-{worksheet_id}"
    if st.session_state.get(slot) in {None, *(run["run_id"] for run in view["runs"])}:
        st.session_state[slot] = new_run_id()
    run_id, is_started = st.session_state[slot], False
    if st.button(label, type=kind, key=f"run-sweep-{place}-{run_id}"):
        with told(_LABELS):
            start_run(house, run_id, sweep_values(view["worksheet"]), who=person())
            is_started = True
    if is_started:
        st.rerun()


def _done_stages(view: dict[str, Any]) -> int:
    return sum(stage["state"] in ("done", "failed") for stage in view["stages"])


def _live(house: House, run_id: str, done: int) -> None:
    """Each second; a finished stage or the end draws the whole worksheet anew, since its fields have changed."""
    with shown():
        view = show_run(house, run_id)
    if view["run"]["state"] in FINAL or _done_stages(view) != done:
        st.rerun()
    with st.container(border=True, key="sweep-live"):
        with st.container(horizontal=True, vertical_alignment="center"):
            state_badge(view["run"]["state"])
            run_link(run_id, f"Open run {short(run_id)}")
            st.text(" · ".join(part for part in (now_words(view), left_words(view)) if part))
            st.caption(box_words(view["run"]))
        with st.expander("Stages"):
            stage_list(view)
