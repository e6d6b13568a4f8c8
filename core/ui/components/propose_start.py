"""Where a proposal starts from: one of the usual changes, or an earlier worksheet whose plan is taken over. Figures never are."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.run import Proposal
from core.domain.templates import TEMPLATES, template
from core.errors import NotFound
from core.services.boxes import model_names
from core.services.house import House
from core.services.worksheets import get_worksheet
from core.ui.components.figures import literal
from core.ui.problem import show
from core.ui.state import FROM

_LAST = "propose-started-from"
FIELDS = {"box_id": "propose-box", "engine_id": "propose-engine", "model": "propose-model", "workload_id": "propose-workload",
          "production_c": "propose-concurrency", "n_max": "propose-n-max", "repetitions": "propose-repetitions",
          "order": "propose-order", "budget_min": "propose-budget", "forced": "propose-forced", "suites": "propose-suites",
          "suite_runs": "propose-suite-runs"}  # fmt: skip


def start_from(house: House) -> dict[str, Any]:
    """What the form has no field for: change under test, worksheet cloned, rest of its plan.

    Fills the fields once when the start changes, before they are drawn.
    """
    earlier = _earlier(house)
    is_new_origin = st.session_state.get(_LAST, (None, ""))[0] != (earlier["worksheet_id"] if earlier else None)
    if earlier and is_new_origin:
        st.session_state["propose-change"] = earlier["body"].get("change", "mtp")
    if earlier:
        st.info(
            f"Cloned from “{literal(earlier['title'])}”: plan, notes and traffic shares are taken over, figures are not.",
            icon=":material/content_copy:",
        )
    st.session_state.setdefault("propose-change", "mtp")
    change = st.segmented_control(
        "The change under test", list(TEMPLATES), format_func=lambda one: template(one).label, key="propose-change", required=True,
        persist_state="session",
    )  # fmt: skip
    st.caption(template(change).hint)
    _fill(house, earlier, str(change), is_new_origin)
    return {**_unseen(earlier), "change": change, "cloned_from": earlier["worksheet_id"] if earlier else None}


def _unseen(earlier: dict[str, Any] | None) -> dict[str, Any]:
    """What the earlier plan says beyond the form's fields: placement, recipe."""
    body = earlier["body"] if earlier else {}
    return {name: body[name] for name in Proposal.model_fields if name in body and name not in (*FIELDS, "title")}


def _earlier(house: House) -> dict[str, Any] | None:
    name = st.query_params.get(FROM, "")
    if not name:
        return None
    try:
        return get_worksheet(house, name)
    except NotFound as problem:
        show(problem)
        return None


def _fill(house: House, earlier: dict[str, Any] | None, change: str, is_new_origin: bool) -> None:
    """Once a start: what a person changes afterwards stays."""
    start = (earlier["worksheet_id"] if earlier else None, change)
    if st.session_state.get(_LAST) == start:
        return
    st.session_state[_LAST] = start
    if earlier and is_new_origin:
        st.session_state.pop("propose-title", None)
        for name, key in FIELDS.items():
            if name in earlier["body"] and _is_offered(house, earlier["body"], name):
                st.session_state[key] = earlier["body"][name]
    elif template(change).n_max is not None:
        st.session_state[FIELDS["n_max"]] = template(change).n_max


def _is_offered(house: House, body: dict[str, Any], name: str) -> bool:
    """A box, engine, model or workload that is gone by now is left to the person."""
    box = next((one for one in house.store.boxes.all() if one.box_id == body["box_id"]), None)
    if name in ("box_id", "engine_id", "model"):
        names = {"box_id": [body["box_id"]], "engine_id": [one.id for one in box.engines], "model": model_names(house, box)} if box else {}
        return body[name] in names.get(name, [])
    if name == "suites":
        return bool(box and all(box.suite(one) for one in body["suites"]))
    return name != "workload_id" or body[name] in house.workloads
