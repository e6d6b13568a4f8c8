"""Tool suites of a box: what is registered, and the form that adds one. An argument a line; nothing ever goes through a shell."""

from __future__ import annotations

import shlex
from typing import Any

import streamlit as st

from core.domain.box import Box
from core.domain.suite_score import RULES
from core.services.house import House
from core.services.suites import register_suite, remove_suite, rule_words
from core.ui.components.field_problems import told
from core.ui.components.person import person

LABELS = {
    "id": "Name of the suite",
    "argv": "Program and arguments, one a line",
    "by": "Score from",
    "at": "Place of the score",
    "limit_s": "Time limit of one run, s",
    "band": "Noise band ±, points",
    "input": "The form:",
}
_RULES = {
    "exit": "exit code (0 is 100, 1 is 0)",
    "file": "the file DRAFTLEDGER_SCORE_FILE",
    "json": "a place in the JSON it prints",
    "regex": "a pattern in its lines",
}


def suite_panel(house: House, box: Box) -> None:
    """All of it in one expander of the box's card."""
    with st.expander(f"Tool suites ({len(box.suites)})", key=f"suites-{box.box_id}"):
        for suite in box.suites:
            with st.container(horizontal=True, vertical_alignment="center"):
                words = f"{suite.id}: {rule_words(suite)}; at most {suite.limit_s:g} s, noise ±{suite.band:g}"
                st.text(words, width="stretch")
                st.button("Remove", key=f"remove-{box.box_id}-{suite.id}", on_click=_remove, args=(house, box.box_id, suite.id))
            st.code(shlex.join(suite.argv), language=None, wrap_lines=True)
        st.caption(
            "A suite runs on the box against the started engine, speculation on and off. Its environment says where the engine is:"
            " DRAFTLEDGER_URL, DRAFTLEDGER_API_KEY, DRAFTLEDGER_MODEL."
        )
        _form(house, box)


def _remove(house: House, box_id: str, suite_id: str) -> None:
    with told(LABELS):
        remove_suite(house, box_id, suite_id, who=person())


def _form(house: House, box: Box) -> None:
    with st.form(f"suite-form-{box.box_id}", border=False):
        left, right = st.columns(2)
        with left:
            name = st.text_input(LABELS["id"], key=f"suite-id-{box.box_id}", placeholder="tool-calls")
            argv = st.text_area(LABELS["argv"], key=f"suite-argv-{box.box_id}", placeholder="/usr/bin/python3\n/opt/suites/run.py\n--quick")
        with right:
            by = st.selectbox(LABELS["by"], RULES, format_func=lambda one: _RULES[one], key=f"suite-by-{box.box_id}")
            at = st.text_input(LABELS["at"], key=f"suite-at-{box.box_id}", placeholder="summary.score, or passed (\\d+)")
            limit_s = st.number_input(LABELS["limit_s"], value=600, step=60, key=f"suite-limit-{box.box_id}")
            band = st.number_input(LABELS["band"], value=10.0, key=f"suite-band-{box.box_id}")
        if not st.form_submit_button("Register suite", key=f"register-suite-{box.box_id}"):
            return
    is_done = False
    values: dict[str, Any] = {"id": name, "argv": argument_list(argv), "by": by, "at": at.strip(), "limit_s": limit_s, "band": band}
    with told(LABELS | {"by": "Your name (in the menu)"} if not person() else LABELS):
        register_suite(house, box.box_id, values, who=person())
        is_done = True
    if is_done:
        st.toast(f"{name} is registered on {box.name}.")
        st.rerun()


def argument_list(text: str) -> list[str]:
    """One argument a line, as it stands; empty lines at the end fall away."""
    lines = [line.strip("\r") for line in text.split("\n")]
    while lines and not lines[-1].strip():
        lines.pop()
    return lines
