"""The results matrix: rows of measured, imported and published cells."""

from __future__ import annotations

from typing import Any

from core.domain.cell_gate import gated
from core.domain.imported import imported_cell, imported_why, row_key
from core.domain.matrix import COLUMNS, column, measured_cell, not_run, published_cell, row_why
from core.domain.run import CANCELLED, DONE, FAILED, LOST
from core.errors import InvalidInput
from core.services.cell_gates import gates_of_runs
from core.services.house import House

PROVENANCES = ("measured", "imported", "transcribed")
_ENDED = (DONE, CANCELLED, FAILED, LOST)


def matrix_rows(house: House, *, provenance: str | None = None, model: str | None = None) -> list[dict[str, Any]]:
    """Rows in the form of the API: measured first (newest run first), then imported ones, then the published reference rows.

    Raises InvalidInput for an unknown provenance.
    """
    if provenance is not None and provenance not in PROVENANCES:
        raise InvalidInput({"provenance": f"has to be one of {', '.join(PROVENANCES)}."})
    rows = [] if provenance not in (None, "measured") else _measured_rows(house, model)
    rows += [] if provenance not in (None, "imported") else _imported_rows(house, model)
    return rows + ([] if provenance not in (None, "transcribed") else _published_rows(house, model))


def _row(key: dict[str, Any], cells: dict[str, dict[str, Any]]) -> dict[str, Any]:
    filled = {name: cells.get(name, not_run()) for name in COLUMNS} | {n: cells[n] for n in sorted(cells.keys() - set(COLUMNS), key=int)}
    return {**key, "cells": filled, "why": row_why(cells)}


def _imported_rows(house: House, model: str | None) -> list[dict[str, Any]]:
    """Rows of their own: cells of one file that share everything but n_max. A cell whose n_max is unknown has no column and stays out."""
    return [_imported_row(group) for group in groups_of(house.store.imports.cells(model=model))]


def groups_of(cells: list[dict[str, Any]]) -> list[dict[int, dict[str, Any]]]:
    """Cells by n_max, one group a row of the matrix."""
    groups: list[dict[int, dict[str, Any]]] = []
    open_group: dict[tuple[Any, ...], dict[int, dict[str, Any]]] = {}
    for cell in cells:
        if cell["n_max"] is None:
            continue
        group = open_group.get(row_key(cell))
        if group is None or cell["n_max"] in group:  # the same arm twice in one file: two rows, nothing is averaged
            group = open_group[row_key(cell)] = {}
            groups.append(group)
        group[cell["n_max"]] = cell
    return groups


def _imported_row(group: dict[int, dict[str, Any]]) -> dict[str, Any]:
    first = next(iter(group.values()))
    key = {
        "model": first["model"], "spill": first["placement"], "box": None, "build": first["build"], "context": first["context"],
        "workload": first["workload"], "c": first["c"], "provenance": "imported", "run_id": None,
        "file": {"name": first["file"], "sha256": first["sha256"], "kind": first["kind"], "settings": first["settings"]},
    }  # fmt: skip
    row = _row(key, {column(n): imported_cell(cell, group.get(0)) for n, cell in group.items()})
    return {**row, "why": imported_why(group, row["why"])}


def _published_rows(house: House, model: str | None) -> list[dict[str, Any]]:
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for cell in house.store.published.cells(model):
        groups.setdefault((cell["source"], cell["row_key"]), []).append(cell)
    rows = []
    for cells in groups.values():
        first = cells[0]
        baseline = next((cell for cell in cells if cell["n_max"] == 0), None)
        key = {
            "model": first["model"],
            "spill": {"label": first["spill_label"], "layers": first["spill_layers"], "host_mib": None, "host_share": None,
                      "state": "resident" if first["spill_layers"] == 0 else "spilled"},
            "box": None, "build": None, "context": None, "workload": None, "c": 1, "provenance": "transcribed", "run_id": None,
        }  # fmt: skip
        rows.append(_row(key, {column(cell["n_max"]): published_cell(cell, baseline) for cell in cells}))
    return rows


def _measured_rows(house: House, model: str | None) -> list[dict[str, Any]]:
    """One row per model, box, build, placement, workload, context and concurrency: its newest complete run, else the newest that ended."""
    runs: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for cell in house.store.cells.for_matrix(model):
        if cell["state"] in _ENDED:
            runs.setdefault((cell["run_id"], cell["c"]), []).append(cell)
    chosen: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for cells in runs.values():
        key = _identity(cells[0])
        if key not in chosen or (chosen[key][0]["state"] != DONE and cells[0]["state"] == DONE):
            chosen[key] = cells
    gates = gates_of_runs(house, [cells[0]["run_id"] for cells in chosen.values()])
    return [_measured_row(cells, gates[cells[0]["run_id"]]) for cells in chosen.values()]


def _build_text(recipe: dict[str, Any] | None) -> str | None:
    """“b11549 (abcdef12)”, as much of it as was recorded."""
    build, commit = (recipe or {}).get("engine_build"), (recipe or {}).get("engine_commit")
    return " ".join(part for part in (f"b{build}" if build else "", f"({commit})" if commit else "") if part) or None


def _identity(cell: dict[str, Any]) -> tuple[Any, ...]:
    request, recipe, placement = cell["request"], cell["recipe"] or {}, cell["placement"] or {}
    return (
        request["model"],
        cell["box_id"],
        _build_text(recipe),
        placement.get("label"),
        request["workload_id"],
        recipe.get("context"),
        cell["c"],
    )


def _measured_row(cells: list[dict[str, Any]], gates: dict[tuple[int, int], dict[str, Any]]) -> dict[str, Any]:
    first = cells[0]
    request, recipe, placement = first["request"], first["recipe"] or {}, first["placement"] or {}
    baseline = next((cell for cell in cells if cell["n_max"] == 0), None)
    key = {
        "model": request["model"],
        "spill": {"label": placement.get("label", "unknown"), "layers": placement.get("n_cpu_moe"), "host_mib": placement.get("host_mib"),
                  "host_share": placement.get("host_share"), "state": placement.get("state", "unknown")},
        "box": first["box_id"], "build": _build_text(recipe), "context": recipe.get("context"), "workload": request["workload_id"],
        "c": first["c"], "provenance": "measured", "run_id": first["run_id"],
    }  # fmt: skip
    row = _row(key, {column(cell["n_max"]): gated(measured_cell(cell, baseline), gates.get((cell["n_max"], cell["c"]))) for cell in cells})
    return row if first["state"] == DONE else {**row, "why": f"the run did not finish ({first['state']}); {row['why']}"}
