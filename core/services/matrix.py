"""The results matrix: rows of measured, imported and published cells."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from core.domain.cell_gate import gated
from core.domain.forms import checked
from core.domain.imported_row import imported_cell, imported_why
from core.domain.matrix import (
    COLUMNS,
    column,
    measured_cell,
    not_run,
    published_cell,
    row_why,
    tied_with_best,
    unmeasured_arm,
)
from core.domain.matrix_filter import SORTS, MatrixFilter
from core.domain.row_suggestion import row_suggestion
from core.domain.run import DONE
from core.errors import InvalidInput
from core.services.access import authorize
from core.services.cell_gates import Arm, Gate, gates_of_runs
from core.services.house import House
from core.services.matrix_heads import Head, all_heads, chosen_heads, stale_of


def matrix_rows(house: House, *, sort: str = SORTS[0], **wanted: Any) -> list[dict[str, Any]]:
    """Every row that fits, in the form of the API: models together, measured ones first, least spill first within a model.

    `wanted`: fields of MatrixFilter. Raises InvalidInput with one sentence per field that cannot be.
    """
    authorize(house, "see")
    return rows_of(house, fitting(house, all_heads(house), sort=sort, **wanted))


def fitting(house: House, heads: list[Head], *, sort: str = SORTS[0], **wanted: Any) -> list[Head]:
    """The heads that fit, arranged; cut a page from them before `rows_of` adds anything up. Raises InvalidInput."""
    authorize(house, "see")
    asked = checked(MatrixFilter, {name: value for name, value in wanted.items() if value is not None})
    if sort not in SORTS:
        raise InvalidInput({"sort": f"has to be one of: {', '.join(SORTS)}."})
    now = house.clock.now()
    if heads is not all_heads(house):
        return chosen_heads(heads, asked, sort, now)
    chosen: list[Head] = house.keep("chosen", (asked, sort, now.date()), lambda: chosen_heads(heads, asked, sort, now))
    return chosen


def rows_of(house: House, heads: list[Head]) -> list[dict[str, Any]]:
    """Rows of these heads. The figures of all measured ones come in one question. Kept until something is written; read-only."""
    authorize(house, "see")
    now = house.clock.now()
    rows: list[dict[str, Any]] = house.keep("rows", ([head["key"] for head in heads], now.date()), lambda: _rows(house, heads, now))
    return rows


def _rows(house: House, heads: list[Head], now: datetime) -> list[dict[str, Any]]:
    run_ids = sorted({head["run_id"] for head in heads if head["run_id"]})
    arms, failed, drifted = _figures(house, run_ids) if run_ids else ({}, {}, set())
    gates = gates_of_runs(house, run_ids)
    rows = []
    for head in heads:
        if head["provenance"] == "measured":
            found = {name: part.get(head["key"], []) for name, part in (("arms", arms), ("failed", failed))}
            row = _measured_row(head, stale_of(head, now), gates=gates[head["run_id"]], is_drifted=head["run_id"] in drifted, **found)
            rows.append(row)
        else:
            rows.append(_imported_row(head) if head["provenance"] == "imported" else _published_row(head))
    return rows


def _figures(house: House, run_ids: list[str]) -> tuple[dict[Any, list[Any]], dict[Any, list[Any]], set[str]]:
    """(cells by run and c, failed stages by run and c, runs that drifted)."""
    arms: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for cell in house.store.cells.of_runs(run_ids):
        arms.setdefault((cell["run_id"], cell["c"]), []).append(cell)
    failed: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for stage in house.store.cells.failed_stages(run_ids):
        failed.setdefault((stage["run_id"], stage["c"]), []).append(stage)
    return arms, failed, house.store.cells.drifted(run_ids)


def _row(
    head: Head, cells: dict[str, dict[str, Any]], stale: list[str] | None = None, arms: dict[str, dict[str, Any]] | None = None
) -> dict[str, Any]:
    filled = {name: cells.get(name, not_run()) for name in COLUMNS} | {n: cells[n] for n in sorted(cells.keys() - set(COLUMNS), key=int)}
    best, tied = tied_with_best(filled, arms)
    key = {name: value for name, value in head.items() if name not in ("source", "at", "key")}
    more = {"at": head["at"].isoformat() if head["at"] else None, "stale": stale or [], "drifted": None}
    longest = max((arms or {}).values(), key=lambda arm: arm["n_max"], default={})
    told = {"why": row_why(filled, best), "suggestion": row_suggestion(filled, best, longest.get("last_position"))}
    return {**key, **more, "best": best, "tied": sorted(tied), "cells": filled, **told}


def _imported_row(head: Head) -> dict[str, Any]:
    group = head["source"]
    first = next(iter(group.values()))
    row = _row(head, {column(n): imported_cell(cell, group.get(0)) for n, cell in group.items()})
    file = {"name": first["file"], "sha256": first["sha256"], "kind": first["kind"], "settings": first["settings"]}
    return {**row, "file": file, "why": imported_why(group, row["why"])}


def _published_row(head: Head) -> dict[str, Any]:
    baseline = next((cell for cell in head["source"] if cell["n_max"] == 0), None)
    return _row(head, {column(cell["n_max"]): published_cell(cell, baseline) for cell in head["source"]})


def _measured_row(
    head: Head, stale: list[str], *, gates: dict[Arm, Gate], arms: list[dict[str, Any]], failed: list[dict[str, Any]], is_drifted: bool
) -> dict[str, Any]:
    baseline = next((cell for cell in arms if cell["n_max"] == 0), None)
    ended = [unmeasured_arm(head["run_id"], stage["n_max"], head["c"], stage["reason"]) for stage in failed]
    cells = {column(cell["n_max"]): measured_cell(cell, baseline) for cell in (*ended, *arms)}
    judged = {column(n_max): gate for (n_max, c), gate in gates.items() if c == head["c"]}
    cells = {name: gated(cell, judged.get(name)) for name, cell in cells.items()}
    if stale:
        cells = {name: {**cell, "status": "stale"} if cell["status"] == "ok" else cell for name, cell in cells.items()}
    row, state = _row(head, cells, stale, {column(arm["n_max"]): arm for arm in arms}), head["source"]["state"]
    notes = [f"the run did not finish ({state})"] if state != DONE else []
    notes += ["its baseline drifted while it measured"] if is_drifted else []
    return {**row, "drifted": is_drifted, "why": "; ".join([*notes, row["why"]])}
