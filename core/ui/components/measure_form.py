"""Start a run: from a recipe file, and how it is measured; with the noise plan's words before the start."""

from __future__ import annotations

import hashlib
from typing import Any

import streamlit as st

from core.domain.box import Box
from core.domain.looks import ORDERS
from core.errors import BenchError
from core.formats.recipe_file import LIMIT
from core.services.boxes import model_names
from core.services.house import House
from core.services.noise import noise_words
from core.services.recipes import sweep_of_recipe
from core.ui.components.field_problems import show_problems

LABELS = {
    "order": "Order of the arms",
    "budget_min": "Time budget, minutes",
    "forced": "Forced-acceptance pass",
    "suites": "Tool suites",
    "suite_runs": "Suite runs a side",
    "recipe file": "The recipe file",
}
_ORDERS = {
    "abba": "A B B A: back and forth while undecided",
    "interleaved": "interleaved: the baseline between steps too",
    "block": "block: each arm once, baseline at the end",
}
_FILE, _TAKEN, _FROM, _PROBLEM = "propose-recipe-file", "propose-recipe-taken", "propose-recipe", "propose-recipe-problem"
_WIDGETS = {
    "title": "propose-title", "box_id": "propose-box", "engine_id": "propose-engine", "model": "propose-model",
    "workload_id": "propose-workload", "production_c": "propose-concurrency", "n_max": "propose-n-max",
    "repetitions": "propose-repetitions", "order": "propose-order", "budget_min": "propose-budget", "forced": "propose-forced",
    "suites": "propose-suites", "suite_runs": "propose-suite-runs",
}  # fmt: skip
_CARRIED = ("context", "n_gpu_layers", "n_cpu_moe", "recipe_id")


def recipe_start(house: House) -> None:
    """The file field; call before the other fields are drawn: a good file fills them, a bad one changes nothing."""
    file = st.file_uploader(
        "A recipe that a run or a receipt wrote; it fills the fields, and each can be changed", type=["toml"], key=_FILE
    )
    if file is None:
        for key in (_TAKEN, _FROM, _PROBLEM):
            st.session_state.pop(key, None)
        return
    data = file.getvalue() if file.size <= LIMIT else file.read(LIMIT + 1)
    mark = hashlib.sha256(data).hexdigest()
    if st.session_state.get(_TAKEN) != mark:
        st.session_state[_TAKEN] = mark
        _take(house, data)
    problem = st.session_state.get(_PROBLEM)
    if problem is not None:
        show_problems(problem, LABELS)
        return
    values = st.session_state[_FROM]
    kept = ", ".join(f"{key} {values[key]}" for key in _CARRIED[:3] if values[key] is not None)
    st.caption(
        f"Filled from recipe {values['recipe_id'][:8]}…{f', with {kept}' if kept else ''}. The fields stay when the file is taken out."
    )


def _take(house: House, data: bytes) -> None:
    st.session_state.pop(_PROBLEM, None)
    st.session_state.pop(_FROM, None)
    try:
        values = sweep_of_recipe(data)
        box = house.box(values["box_id"])
    except BenchError as error:
        st.session_state[_PROBLEM] = error
        return
    st.session_state[_FROM] = values
    known = {
        "engine_id": [one.id for one in box.engines],
        "model": model_names(house, box),
        "workload_id": list(house.workloads),
    }
    for field, key in _WIDGETS.items():
        if field == "suites":
            st.session_state[key] = [one for one in values["suites"] if box.suite(one)]
        elif values[field] in known.get(field, [values[field]]):
            st.session_state[key] = values[field]


def carried() -> dict[str, Any]:
    """What the recipe file brings beside the fields: context, placement, and which recipe it is."""
    values = st.session_state.get(_FROM) or {}
    return {key: values[key] for key in _CARRIED if values.get(key) is not None}


def measure_fields(house: House, box: Box) -> dict[str, Any]:
    """How the sweep is measured."""
    left, right = st.columns(2)
    with left:
        order = st.selectbox(LABELS["order"], ORDERS, format_func=lambda one: _ORDERS[one], key="propose-order", persist_state="session")
        forced = st.checkbox(
            LABELS["forced"],
            key="propose-forced",
            persist_state="session",
            help="Two synthetic points for each n tell what a step costs without the drafter's luck. No decision rests on them.",
        )
    with right:
        budget = st.number_input(
            LABELS["budget_min"], value=None, step=10, key="propose-budget", placeholder="none", persist_state="session"
        )
        suites: list[str] = []
        runs: int | None = 2
        if box.suites:
            suites = st.multiselect(
                LABELS["suites"],
                [one.id for one in box.suites],
                key="propose-suites",
                persist_state="session",
                help="Run after the sweep, speculation on and off.",
            )
        if suites:
            st.session_state.setdefault("propose-suite-runs", 2)
            runs = st.number_input(
                LABELS["suite_runs"],
                value=None,
                step=1,
                key="propose-suite-runs",
                persist_state="session",
                help="At least 2 for the suite's gate.",
            )
    if not box.suites:
        st.caption("This box has no tool suite registered; its card on the Boxes page takes one.")
    return {"order": order, "budget_min": budget, "forced": forced, "suites": suites, "suite_runs": runs}


def noise_before(house: House, values: dict[str, Any]) -> None:
    """The noise plan's words before anything starts."""
    st.caption("Before the start: what the noise allows to see")
    st.text(noise_words(house, values)["text"])
