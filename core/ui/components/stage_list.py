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
    grid = st.grid(3, wrap=False, min_column_width=100, gap=("xxsmall", "small"), key="stages")
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
    for word in ("stage", "tok/s (repetitions)", "against off · acceptance"):
        with grid.cell():
            st.caption(word)


def _line(grid: Any, mark: str, name: str, rates: str, against: str, accepted: str) -> None:
    for words in (f"{mark} {name}", rates):
        with grid.cell():
            st.text(words)
    with grid.cell(), st.container(horizontal=True, gap="small"):
        for words in filter(None, (against, accepted)):
            st.text(words, width="content")


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
