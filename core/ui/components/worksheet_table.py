"""The accounting table: fields down, baseline and candidate across. A value says where it comes from, a blank what would fill it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import streamlit as st

from core.domain.run import ACTIVE, short
from core.services.house import House
from core.ui.components.figures import blank, literal, when
from core.ui.components.links import receipt_link, run_link
from core.ui.components.suite_form import suite_button
from core.ui.components.sweep_panel import sweep_button
from core.ui.components.worksheet_text import text_button

_SPANS = (3, 6, 3)
_FILLED_BY = {
    "suite": "type the scores in",
    "fit": "type it in",
    "failure_modes": "type it in",
    "decision": "decide below",
    "owner": "name an owner below",
}
_TYPED = {("fit", "baseline"), ("fit", "candidate"), ("failure_modes", "candidate")}


Live = tuple[House, dict[str, Any]] | None


def worksheet_table(fields: list[dict[str, Any]], live: Live, *, key: str) -> None:
    """The whole table; `live`: the worksheet's view while it may be filled, None: a blank stays one.

    On a narrow screen a row folds into three lines, its field first and both sides beside each other; nothing is scrolled sideways.
    """
    with st.container(gap="small", key=key):
        for cell, word in zip(_cells(f"{key}-head"), ("field: ✓ filled, ○ open", "baseline", "candidate", "notes"), strict=True):
            with cell:
                st.caption(word)
        for number, row in enumerate(fields):
            _row(live, row, f"{key}-{number}")


def _cells(key: str) -> list[Any]:
    """Field, baseline, candidate, notes."""
    label, sides, notes = st.columns(_SPANS, gap="xsmall")
    with sides:
        grid = st.grid(2, wrap=False, min_column_width=120, gap="small", key=f"{key}-sides")
    return [label, grid.cell(), grid.cell(), notes]


def _row(live: Live, row: dict[str, Any], key: str) -> None:
    label, baseline, candidate, notes = _cells(key)
    with label:
        st.text(f"{'✓' if row['state'] == 'ok' else '○'} {row['label']}")
    for cell, side in ((baseline, "baseline"), (candidate, "candidate")):
        with cell, st.container(gap=None, key=f"{key}-{side}"):
            _value(row["key"], row[side], live[1]["worksheet"]["body"] if live else None)
            if live and (row["key"], side) in _TYPED:
                text_button(*live, row["key"], side, "✎ change" if row[side]["state"] == "ok" else "✎ type in")
    with notes, st.container(gap=None):
        if row["note"]:
            st.text(row["note"])
        if live:
            with st.container(horizontal=True, gap="small", vertical_alignment="center"):
                _action(*live, row)
                text_button(*live, row["key"], "note", "✎ note")


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
        st.caption(f"typed in by {literal(value['typed_by'])}{_at(value.get('typed_at'))}")


def _at(moment: datetime | str | None) -> str:
    """“, 2026-11-29 18:33 UTC”; frozen evidence holds its moments as text."""
    return f", {when(datetime.fromisoformat(moment) if isinstance(moment, str) else moment)}" if moment else ""


def filled_by(field: str, asked: dict[str, Any]) -> str:
    """What would fill a missing value."""
    if field == "production":
        return f"run the sweep, it ends at c={asked['production_c']}"
    return _FILLED_BY.get(field, "run the sweep")


def _action(house: House, view: dict[str, Any], row: dict[str, Any]) -> None:
    """The one thing that would fill this row, ready to be done; nothing where the row is filled or a sweep is on its way."""
    if row["key"] == "suite":
        suite_button(house, view, "✎ scores")
    elif row["state"] != "ok" and row["key"] not in _FILLED_BY:
        if any(run["state"] in ACTIVE for run in view["runs"]):
            st.caption("a sweep is on its way")
        else:
            c = view["worksheet"]["body"]["production_c"]
            sweep_button(house, view, f"▶ measure at c={c}" if row["key"] == "production" else "▶ measure", row["key"])
