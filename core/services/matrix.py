"""The results matrix and the receipt behind each of its cells."""

from __future__ import annotations

from typing import Any

from core.domain.forms import checked
from core.domain.imported_row import imported_cell, imported_price, imported_why
from core.domain.matrix import (
    COLUMNS,
    column,
    failed_cell,
    measured_cell,
    measured_price,
    not_run,
    published_cell,
    published_price,
    row_why,
    tied_with_best,
)
from core.domain.matrix_filter import SORTS, MatrixFilter
from core.domain.recipe import differences
from core.domain.run import DONE
from core.errors import InvalidInput, NotFound
from core.services.house import House
from core.services.matrix_heads import Head, all_heads, chosen_heads, groups_of
from core.services.readings import readings_of_arm


def matrix_rows(house: House, *, sort: str = SORTS[0], **wanted: Any) -> list[dict[str, Any]]:
    """Every row that fits, in the form of the API: models together, measured ones first, least spill first within a model.

    `wanted`: fields of MatrixFilter. Raises InvalidInput with one sentence per field that cannot be.
    """
    return rows_of(house, fitting(house, all_heads(house), sort=sort, **wanted))


def fitting(house: House, heads: list[Head], *, sort: str = SORTS[0], **wanted: Any) -> list[Head]:
    """The heads that fit, arranged; cut a page from them before `rows_of` adds anything up. Raises InvalidInput."""
    asked = checked(MatrixFilter, {name: value for name, value in wanted.items() if value is not None})
    if sort not in SORTS:
        raise InvalidInput({"sort": f"has to be one of: {', '.join(SORTS)}."})
    return chosen_heads(heads, asked, sort, house.clock.now())


def rows_of(house: House, heads: list[Head]) -> list[dict[str, Any]]:
    """Rows of these heads. The figures of all measured ones come in one question."""
    run_ids = sorted({head["run_id"] for head in heads if head["run_id"]})
    arms: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for cell in house.store.cells.of_runs(run_ids) if run_ids else []:
        arms.setdefault((cell["run_id"], cell["c"]), []).append(cell)
    failed: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for stage in house.store.cells.failed_stages(run_ids) if run_ids else []:
        failed.setdefault((stage["run_id"], stage["c"]), []).append(stage)
    drifted = house.store.cells.drifted(run_ids) if run_ids else set()
    rows = []
    for head in heads:
        if head["provenance"] == "measured":
            key = (head["run_id"], head["c"])
            rows.append(_measured_row(head, arms.get(key, []), failed.get(key, []), head["run_id"] in drifted))
        else:
            rows.append(_imported_row(head) if head["provenance"] == "imported" else _published_row(head))
    return rows


def _row(head: Head, cells: dict[str, dict[str, Any]]) -> dict[str, Any]:
    filled = {name: cells.get(name, not_run()) for name in COLUMNS} | {n: cells[n] for n in sorted(cells.keys() - set(COLUMNS), key=int)}
    best, tied = tied_with_best(filled)
    key = {name: value for name, value in head.items() if name not in ("source", "at")}
    at = head["at"].isoformat() if head["at"] else None
    return {**key, "at": at, "drifted": None, "best": best, "tied": sorted(tied), "cells": filled, "why": row_why(filled)}


def _imported_row(head: Head) -> dict[str, Any]:
    group = head["source"]
    first = next(iter(group.values()))
    row = _row(head, {column(n): imported_cell(cell, group.get(0)) for n, cell in group.items()})
    file = {"name": first["file"], "sha256": first["sha256"], "kind": first["kind"], "settings": first["settings"]}
    return {**row, "file": file, "why": imported_why(group, row["why"])}


def _published_row(head: Head) -> dict[str, Any]:
    baseline = next((cell for cell in head["source"] if cell["n_max"] == 0), None)
    return _row(head, {column(cell["n_max"]): published_cell(cell, baseline) for cell in head["source"]})


def _measured_row(head: Head, arms: list[dict[str, Any]], failed: list[dict[str, Any]], drifted: bool) -> dict[str, Any]:
    baseline = next((cell for cell in arms if cell["n_max"] == 0), None)
    cells = {column(stage["n_max"]): failed_cell(head["run_id"], stage["reason"]) for stage in failed}
    cells |= {column(cell["n_max"]): measured_cell(cell, baseline) for cell in arms}
    if head["stale"]:
        cells = {name: {**cell, "status": "stale"} if cell["status"] == "ok" else cell for name, cell in cells.items()}
    row, state = _row(head, cells), head["source"]["state"]
    notes = [f"the run did not finish ({state})"] if state != DONE else []
    notes += ["its baseline drifted while it measured"] if drifted else []
    return {**row, "drifted": drifted, "why": "; ".join([*notes, row["why"]])}


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
    same_row = next((group for group in groups_of(cells) if one in group.values()), {})
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
