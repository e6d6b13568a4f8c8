"""The accounting table: fields down, baseline and candidate across. A value says where it comes from, a blank what would fill it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.run import short
from core.ui.components.figures import blank, literal
from core.ui.components.links import receipt_link, run_link

_HEAD = ((2, "field"), (3, "baseline"), (3, "candidate"), (3, "notes"), (1, "state"))
_TYPED = "type it in below"
_FILLED_BY = {
    "suite": "run a suite with the sweep, or type the scores in below",
    "fit": _TYPED,
    "failure_modes": _TYPED,
    "decision": "decide below",
    "owner": "name an owner below",
}


def worksheet_table(fields: list[dict[str, Any]], asked: dict[str, Any] | None, *, key: str) -> None:
    """The whole table; `asked` None: decided, a blank stays one. Wide screens show it at once, narrow ones scroll it sideways."""
    grid = st.grid(12, wrap=False, min_column_width=60, gap="xsmall", key=key)
    for span, word in _HEAD:
        with grid.cell(column_span=span):
            st.caption(word)
    for number, row in enumerate(fields):
        _row(grid, row, asked, f"{key}-{number}")


def _row(grid: Any, row: dict[str, Any], asked: dict[str, Any] | None, key: str) -> None:
    with grid.cell(column_span=2):
        st.text(row["label"])
    for side in ("baseline", "candidate"):
        with grid.cell(column_span=3), st.container(gap=None, key=f"{key}-{side}"):
            _value(row["key"], row[side], asked)
    with grid.cell(column_span=3):
        st.text(row["note"])
    with grid.cell():
        st.text("✓" if row["state"] == "ok" else "○ open")


def _value(field: str, value: dict[str, Any], asked: dict[str, Any] | None) -> None:
    state = value["state"]
    if state == "not_run":
        st.caption(f"missing: {filled_by(field, asked)}" if asked else "missing")
        return
    st.text(value["text"] if state == "ok" else f"{blank(state)} {'' if value['text'] == blank(state) else value['text']}".strip())
    if value.get("cold"):
        st.caption(f"cold: {value['cold']}")
    if value["cell_id"]:
        receipt_link(value["cell_id"], "receipt ↗")
    elif value["run_id"]:
        run_link(value["run_id"], f"run {short(value['run_id'])} ↗")
    elif value["typed_by"] and field not in ("decision", "owner"):
        st.caption(f"typed in by {literal(value['typed_by'])}")


def filled_by(field: str, asked: dict[str, Any]) -> str:
    """What would fill a missing value."""
    if field == "production":
        return f"run the sweep, it ends at c={asked['production_c']}"
    return _FILLED_BY.get(field, "run the sweep")
