"""The form that opens a worksheet. Choices of engine and model follow the chosen box, so the fields are no closed form."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.box import Box
from core.domain.templates import template
from core.services.boxes import model_names
from core.services.house import House
from core.services.worksheets import new_worksheet_id
from core.ui.components import measure_form
from core.ui.components.links import page_link
from core.ui.components.measure_form import carried, measure_fields, noise_before, recipe_start
from core.ui.components.propose_start import start_from

LABELS = {
    "title": "Title",
    "box_id": "Box",
    "engine_id": "Engine",
    "model": "Model",
    "workload_id": "Workload",
    "production_c": "Production concurrency",
    "n_max": "Longest draft n_max",
    "repetitions": "Repetitions",
    "by": "Your name (in the menu)",
    **measure_form.LABELS,
}
_NUMBERS = {
    "production_c": ("propose-concurrency", 1, "Streams at once in production, 1 to 64."),
    "n_max": ("propose-n-max", 3, "Tokens drafted ahead in one step, at most. The sweep stops earlier when a longer draft does not pay."),
    "repetitions": ("propose-repetitions", 3, "Warm repetitions of each arm, 3 to 8."),
}
_AUTO, _NEW_ID = "propose-title-auto", "new-worksheet-id"


def propose_form(house: House) -> tuple[str, dict[str, Any]]:
    """Draws the fields; returns the id minted for the coming worksheet and what stands in the fields."""
    start = start_from(house)
    top, left, right = st.container(), *st.columns(2)
    with st.expander("Start from a recipe file", key="propose-from-file"):
        recipe_start(house)
    boxes = {box.box_id: box for box in house.store.boxes.all()}
    with left:
        box = boxes[
            st.selectbox(LABELS["box_id"], list(boxes), format_func=lambda one: boxes[one].name, key="propose-box", persist_state="session")
        ]
        engine = st.selectbox(LABELS["engine_id"], [one.id for one in box.engines], key="propose-engine", persist_state="session")
        model = _model(house, box)
        workload = st.selectbox(
            LABELS["workload_id"],
            list(house.workloads),
            format_func=lambda one: _workload(house, one),
            key="propose-workload",
            persist_state="session",
        )
    with right:
        numbers = {name: _number(name) for name in _NUMBERS}
    _follow_model(model, start["change"])
    with top:
        title = st.text_input(LABELS["title"], key="propose-title", persist_state="session")
    with st.expander("How it is measured", key="propose-how"):
        how = measure_fields(house, box)
    values = {
        **start,
        **carried(),
        **how,
        "title": title,
        "box_id": box.box_id,
        "engine_id": engine or "",
        "model": model or "",
        "workload_id": workload,
        **numbers,
    }
    noise_before(house, values)
    return st.session_state.setdefault(_NEW_ID, new_worksheet_id()), values


def _number(name: str) -> int:
    """Seeded through the session, since a template or a clone may set it too."""
    key, first, help_text = _NUMBERS[name]
    st.session_state.setdefault(key, first)
    return st.number_input(LABELS[name], step=1, key=key, help=help_text, persist_state="session")


def forget_new_id() -> None:
    """The next showing of the form is for another worksheet, and begins afresh."""
    for key in [key for key in st.session_state if key == _NEW_ID or str(key).startswith("propose-")]:
        del st.session_state[key]


def _model(house: House, box: Box) -> str | None:
    names = model_names(house, box)
    if not names:
        st.info("No model is known on this box yet. Check the box: it then lists what it has.")
        page_link("boxes", "Boxes", icon=":material/dns:")
        return None
    return st.selectbox(LABELS["model"], names, key="propose-model", persist_state="session")


def _workload(house: House, workload_id: str) -> str:
    workload = house.workloads[workload_id]
    return f"{workload.title} ({workload.max_tokens} tokens)"


def _follow_model(model: str | None, change: str) -> None:
    """The title names change and model until somebody writes another one."""
    title = template(change).title.format(model=model) if model else ""
    if "propose-title" not in st.session_state or st.session_state["propose-title"] == st.session_state.get(_AUTO):
        st.session_state["propose-title"] = title
    st.session_state[_AUTO] = title
