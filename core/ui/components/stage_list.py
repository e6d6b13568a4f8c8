"""The stages of a sweep, one line each: mark, name, tok/s, against the baseline, acceptance with its denominator."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.ui.components.cell_conditions import verdict
from core.ui.components.figures import rate, share, sign, speedup
from core.ui.components.run_words import MARKS

_BESIDE = {"forced-all": "synthetic, its cost line below", "forced-none": "synthetic, its cost line below", "suite": "scores below"}


def stage_list(view: dict[str, Any]) -> None:
    """All lines, preflight first. Names and reasons are text."""
    grid = st.grid(12, wrap=False, min_column_width=44, gap="xxsmall", key="stages")
    _head(grid)
    _line(grid, _preflight_mark(view), "preflight", "", "", "")
    for stage in view["stages"]:
        _line(grid, MARKS[stage["state"]], stage["name"], _rates(stage), _against(stage), _accepted(stage))


def _preflight_mark(view: dict[str, Any]) -> str:
    if view["preflight"]:
        return MARKS["done"]
    if view["finished"]:
        return MARKS["failed"]
    return MARKS["now"] if view["run"]["state"] == "running" else MARKS["planned"]


def _head(grid: Any) -> None:
    for span, word in ((3, "stage"), (3, "tok/s (repetitions)"), (2, "against off"), (4, "acceptance")):
        with grid.cell(column_span=span):
            st.caption(word)


def _line(grid: Any, mark: str, name: str, rates: str, against: str, accepted: str) -> None:
    for span, words in ((3, f"{mark} {name}"), (3, rates), (2, against), (4, accepted)):
        with grid.cell(column_span=span):
            st.text(words)


def _rates(stage: dict[str, Any]) -> str:
    if stage["median_tok_s"] is None:
        return ""
    return f"{rate(stage['median_tok_s'])} ({len(stage['tok_s'])} of {stage['repetitions']})" + (" …" if stage["state"] == "now" else "")


def _against(stage: dict[str, Any]) -> str:
    return f"{speedup(stage['speedup'])} {sign(stage['verdict'])}".strip() if stage["speedup"] is not None else ""


def _accepted(stage: dict[str, Any]) -> str:
    gate = stage.get("gate")
    if gate and gate["state"] == "fail" and stage["state"] != "now":
        return verdict(gate)
    if stage["accept_share"] is not None:
        return share(stage["accept_share"], f"of {stage['proposed']} proposed")
    return stage["reason"] or (_BESIDE.get(stage["kind"], "") if stage["state"] == "done" else "")
