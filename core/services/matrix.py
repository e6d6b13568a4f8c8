"""The results matrix and the receipt behind each of its cells."""

from __future__ import annotations

from typing import Any

from core.domain.matrix import COLUMNS, column, measured_cell, measured_price, not_run, published_cell, published_price, row_why
from core.domain.recipe import differences
from core.domain.run import CANCELLED, DONE, FAILED, LOST
from core.errors import InvalidInput, NotFound
from core.services.house import House

PROVENANCES = ("measured", "imported", "transcribed")
_ENDED = (DONE, CANCELLED, FAILED, LOST)


def matrix_rows(house: House, *, provenance: str | None = None, model: str | None = None) -> list[dict[str, Any]]:
    """Rows in the form of the API: measured first (newest run first), then the published reference rows.

    Raises InvalidInput for an unknown provenance.
    """
    if provenance is not None and provenance not in PROVENANCES:
        raise InvalidInput({"provenance": f"has to be one of {', '.join(PROVENANCES)}."})
    rows = [] if provenance not in (None, "measured") else _measured_rows(house, model)
    return rows + ([] if provenance not in (None, "transcribed") else _published_rows(house, model))


def _row(key: dict[str, Any], cells: dict[str, dict[str, Any]]) -> dict[str, Any]:
    filled = {name: cells.get(name, not_run()) for name in COLUMNS} | {n: cells[n] for n in sorted(cells.keys() - set(COLUMNS), key=int)}
    return {**key, "cells": filled, "why": row_why(cells)}


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


def receipt(house: House, cell_id: str) -> dict[str, Any]:
    """Everything behind one cell. Raises NotFound for an id that is none.

    {kind: measured | published, title, cell (matrix form), price, samples, recipe, recipe_differences, server, run, raw_files, decisions}
    """
    return _published_receipt(house, cell_id) if cell_id.startswith("published~") else _measured_receipt(house, cell_id)


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
        "samples": [], "recipe": None, "recipe_differences": {}, "server": None, "run": None, "raw_files": [], "decisions": [],
    }  # fmt: skip


def _measured_receipt(house: House, cell_id: str) -> dict[str, Any]:
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
        "decisions": [
            d for d in house.store.decisions.all() if run_id == d["evidence"].get("run_id")
        ],
    }  # fmt: skip
