"""The results matrix and the receipt behind each of its cells."""

from __future__ import annotations

from typing import Any

from core.domain.imported import imported_cell, imported_price, imported_why, row_key
from core.domain.matrix import COLUMNS, column, measured_cell, measured_price, not_run, published_cell, published_price, row_why
from core.domain.recipe import differences
from core.domain.run import CANCELLED, DONE, FAILED, LOST
from core.errors import InvalidInput, NotFound
from core.services.house import House
from core.services.readings import readings_of_arm

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
    return [_imported_row(group) for group in _groups(house.store.imports.cells(model=model))]


def _groups(cells: list[dict[str, Any]]) -> list[dict[int, dict[str, Any]]]:
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
    return [_measured_row(cells) for cells in chosen.values()]


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


def _measured_row(cells: list[dict[str, Any]]) -> dict[str, Any]:
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
    row = _row(key, {column(cell["n_max"]): measured_cell(cell, baseline) for cell in cells})
    return row if first["state"] == DONE else {**row, "why": f"the run did not finish ({first['state']}); {row['why']}"}


def receipt(house: House, cell_id: str, *, with_logs: bool = False) -> dict[str, Any]:
    """Everything behind one cell. Raises NotFound for an id that is none.

    {kind: measured | published | imported, title, cell (matrix form), price, samples, recipe, recipe_differences, server, run, raw_files,
    log_readings (what the arm's own logs say, only `with_logs`: a first reading takes a moment), decisions}
    """
    if cell_id.startswith("published~"):
        return _published_receipt(house, cell_id)
    if cell_id.startswith("imported~"):
        return _imported_receipt(house, cell_id)
    return _measured_receipt(house, cell_id, with_logs=with_logs)


def _imported_receipt(house: House, cell_id: str) -> dict[str, Any]:
    _, sha256, place = (cell_id.split("~") + ["", ""])[:3]
    cells = house.store.imports.cells(sha256=sha256)
    one = next((cell for cell in cells if str(cell["position"]) == place), None)
    file = house.store.imports.get(sha256) if one else None
    if one is None or file is None:
        raise NotFound("cell", cell_id)
    same_row = next((group for group in _groups(cells) if one in group.values()), {})
    price = imported_price(one, same_row.get(0))
    name = "unknown" if one["n_max"] is None else column(one["n_max"])
    return {
        "kind": "imported",
        "title": f"{one['model'] or 'model not recorded'} · from {file['name']} · n_max {name}",
        "cell": imported_cell(one, same_row.get(0)),
        "published": None,
        "imported": {**one, "file": file},
        "counts": {"n_max": one["n_max"], "c": one["c"] or 1},
        "price": price.as_json() if price else None,
        "samples": [], "recipe": None, "recipe_differences": {}, "servers": [], "server": None, "run": None, "raw_files": [],
        "log_readings": [], "decisions": [],
    }  # fmt: skip


def _published_receipt(house: House, cell_id: str) -> dict[str, Any]:
    _, key, n_text = (cell_id.split("~") + ["", ""])[:3]
    cells = [cell for cell in house.store.published.cells() if cell["row_key"] == key]
    cell = next((one for one in cells if str(one["n_max"]) == n_text), None)
    if cell is None:
        raise NotFound("cell", cell_id)
    baseline = next((one for one in cells if one["n_max"] == 0), None)
    price = published_price(cell, baseline)
    return {
        "kind": "published",
        "title": f"{cell['model']} · {cell['spill_label']} · n_max {column(cell['n_max'])}",
        "cell": published_cell(cell, baseline),
        "published": cell,
        "price": price.as_json() if price else None,
        "samples": [], "recipe": None, "recipe_differences": {}, "server": None, "run": None, "raw_files": [], "log_readings": [],
        "decisions": [],
    }  # fmt: skip


def _measured_receipt(house: House, cell_id: str, *, with_logs: bool) -> dict[str, Any]:
    run_id, _, rest = cell_id.partition("-")
    n_text, _, c_text = rest.partition("-")
    run = house.store.runs.get(run_id)
    if run is None or not (n_text.isdigit() and c_text.isdigit()):
        raise NotFound("cell", cell_id)
    n_max, c = int(n_text), int(c_text)
    cells = {cell["n_max"]: cell for cell in house.store.cells.of_run(run_id) if cell["c"] == c}
    if n_max not in cells:
        raise NotFound("cell", cell_id, [f"n_max {column(n)} at c={c}" for n in cells])
    cell, baseline = cells[n_max], cells.get(0)
    servers = [row for row in house.store.cells.servers(run_id) if (row["n_max"], row["c"]) == (n_max, c)]
    price = measured_price(cell, baseline)
    recipe = house.store.cells.recipe(cell["recipe_id"])
    base_recipe = house.store.cells.recipe(baseline["recipe_id"]) if baseline else None
    return {
        "kind": "measured",
        "title": f"{run['request']['model']} on {run['box_id']} · n_max {column(n_max)} · c={c}",
        "cell": measured_cell(cell, baseline),
        "published": None,
        "price": price.as_json() if price else None,
        "counts": cell,
        "samples": house.store.cells.samples(run_id, n_max=n_max, c=c),
        "recipe": recipe,
        "recipe_id": cell["recipe_id"],
        "recipe_differences": differences(base_recipe or {}, recipe or {}) if n_max and base_recipe else {},
        "servers": servers,
        "run": run,
        "raw_files": [f for f in house.store.runs.raw_files(run_id) if f["name"] in {f"server-{s['server']}.log" for s in servers}],
        "log_readings": readings_of_arm(house, run_id, n_max, c) if with_logs else [],
        "decisions": [
            d for d in house.store.decisions.all() if run_id == d["evidence"].get("run_id")
        ],
    }  # fmt: skip
