"""The receipt of one cell: the figure, its price, its row, and everything it rests on."""

from __future__ import annotations

import re
from typing import Any

from core.domain.arms import FORCED_ALL, FORCED_NONE, SUITE
from core.domain.cell_gate import gated
from core.domain.imported_row import imported_cell, imported_price
from core.domain.matrix import column, measured_cell, measured_price, published_cell, published_price
from core.domain.recipe import differences
from core.errors import NotFound
from core.services.access import authorize
from core.services.cell_gates import gates_of_run
from core.services.failed_arms import failed_arms, starts_of
from core.services.house import House
from core.services.matrix_heads import groups_of
from core.services.readings import readings_of_arm

View = dict[str, Any]
_CELL_ID = re.compile(r"([0-9a-f]{32})-([0-9]{1,4})-([0-9]{1,4})")
BARE: View = {
    **dict.fromkeys(("published", "imported", "counts", "baseline", "recipe", "recipe_id", "run", "is_moe", "gate")),
    **{name: [] for name in ("run_cells", "samples", "servers", "raw_files", "events", "decisions", "worksheets")},
    **{name: [] for name in ("log_readings", "baseline_readings")},
    "recipe_differences": {},
    "spill": {"state": "unknown", "layers": None, "host_share": None},
}


def receipt(house: House, cell_id: str, *, with_logs: bool = False) -> View:
    """Everything behind one cell. Raises NotFound for an id that is none.

    BARE's keys and {kind: measured | published | imported, title, n_max, c, cell (matrix form), price, row: n_max → matrix cell at this
    concurrency}. `log_readings`, `baseline_readings` (what the arms' own logs say) only `with_logs`: a first reading takes a moment.
    """
    authorize(house, "see", cell_id)
    if cell_id.startswith("published~"):
        return _published_receipt(house, cell_id)
    if cell_id.startswith("imported~"):
        return _imported_receipt(house, cell_id)
    return _measured_receipt(house, cell_id, with_logs=with_logs)


def _imported_receipt(house: House, cell_id: str) -> View:
    _, sha256, place = (cell_id.split("~") + ["", ""])[:3]
    cells = house.store.imports.cells(sha256=sha256)
    one = next((cell for cell in cells if str(cell["position"]) == place), None)
    file = house.store.imports.get(sha256) if one else None
    if one is None or file is None:
        raise NotFound("cell", cell_id)
    same_row: dict[int, Any] = next((group for group in groups_of(cells) if one in group.values()), {})
    price = imported_price(one, same_row.get(0))
    name = "unknown" if one["n_max"] is None else column(one["n_max"])
    return {
        **BARE,
        "kind": "imported",
        "title": f"{one['model'] or 'model not recorded'} · from {file['name']} · n_max {name}",
        "n_max": one["n_max"], "c": one["c"] or 1,
        "cell": imported_cell(one, same_row.get(0)),
        "imported": {**one, "file": file},
        "counts": {"n_max": one["n_max"], "c": one["c"] or 1},
        "price": price.as_json() if price else None,
        "row": {n: imported_cell(cell, same_row.get(0)) for n, cell in same_row.items()},
        "spill": one["placement"],
    }  # fmt: skip


def _published_receipt(house: House, cell_id: str) -> View:
    _, key, n_text = (cell_id.split("~") + ["", ""])[:3]
    cells = [cell for cell in house.store.published.cells() if cell["row_key"] == key]
    cell = next((one for one in cells if str(one["n_max"]) == n_text), None)
    if cell is None:
        raise NotFound("cell", cell_id)
    baseline = next((one for one in cells if one["n_max"] == 0), None)
    price = published_price(cell, baseline)
    return {
        **BARE,
        "kind": "published",
        "title": f"{cell['model']} · {cell['spill_label']} · n_max {column(cell['n_max'])}",
        "n_max": cell["n_max"], "c": 1,
        "cell": published_cell(cell, baseline),
        "published": cell,
        "price": price.as_json() if price else None,
        "row": {one["n_max"]: published_cell(one, baseline) for one in cells},
        "spill": {"state": "resident" if cell["spill_layers"] == 0 else "spilled", "layers": cell["spill_layers"], "host_share": None},
        "is_moe": cell["is_moe"],
    }  # fmt: skip


def _measured_receipt(house: House, cell_id: str, *, with_logs: bool) -> View:
    parts = _CELL_ID.fullmatch(cell_id)
    run = house.store.runs.get(parts[1]) if parts else None
    if run is None or parts is None:
        raise NotFound("cell", cell_id)
    run_id, n_max, c = parts[1], int(parts[2]), int(parts[3])
    of_run = house.store.cells.of_run(run_id)
    cells = failed_arms(house, run_id, c) | {cell["n_max"]: cell for cell in of_run if cell["c"] == c}
    if n_max not in cells:
        raise NotFound("cell", cell_id, [f"n_max {column(n)} at c={c}" for n in sorted(cells)])
    cell, baseline = cells[n_max], cells.get(0)
    servers = starts_of(house, run_id, n_max, c)
    price, gates = measured_price(cell, baseline), gates_of_run(house, run_id)
    recipe = house.store.cells.recipe(cell["recipe_id"])
    base_recipe = house.store.cells.recipe(baseline["recipe_id"]) if baseline else None
    return {
        **BARE,
        "kind": "measured",
        "title": f"{run['request']['model']} on {run['box_id']} · n_max {column(n_max)} · c={c}",
        "n_max": n_max,
        "c": c,
        "cell": gated(measured_cell(cell, baseline), gates.get((n_max, c))),
        "gate": gates.get((n_max, c)),
        "price": price.as_json() if price else None,
        "row": {n: gated(measured_cell(one, baseline), gates.get((n, c))) for n, one in sorted(cells.items())},
        "counts": cell,
        "baseline": baseline,
        "run_cells": of_run,
        "samples": house.store.cells.samples(run_id, n_max=n_max, c=c),
        "recipe": recipe,
        "recipe_id": cell["recipe_id"],
        "recipe_differences": differences(base_recipe or {}, recipe or {}) if n_max and base_recipe else {},
        "servers": servers,
        "run": run,
        "raw_files": [f for f in house.store.runs.raw_files(run_id) if f["name"] in {f"server-{s['server']}.log" for s in servers}],
        "log_readings": readings_of_arm(house, run_id, n_max, c) if with_logs else [],
        "baseline_readings": readings_of_arm(house, run_id, 0, c) if with_logs and n_max and baseline else [],
        "decisions": [_resting(one, n_max, c) for one in house.store.decisions.all() if run_id == one["evidence"].get("run_id")],
        "worksheets": _worksheets(house, run),
        "events": _events_of_sweep(house, run_id),
        "spill": _spill(servers),
        "is_moe": ((run["spec"] or {}).get("plan") or {}).get("is_moe"),
    }


def _events_of_sweep(house: House, run_id: str) -> list[View]:
    """What the sweep itself did: the forced pass and the suites, which share its arms' n_max, are left out."""
    events = house.store.runs.events(run_id, kinds=("stage_started", "stage_done", "run_finished", "sample"))
    return [event for event in events if (event["body"].get("stage") or {}).get("kind") not in (FORCED_ALL, FORCED_NONE, SUITE)]


def _spill(servers: list[View]) -> View:
    place = servers[-1]["placement"] if servers else {}
    return {"state": place.get("state", "unknown"), "layers": place.get("n_cpu_moe"), "host_share": place.get("host_share")}


def _resting(entry: View, n_max: int, c: int) -> View:
    """The ledger entry with `as`: what this cell was in it: baseline, candidate, or one of the other cells of its run."""
    at = "single" if c == 1 else "production"
    sides = [name for name in ("baseline", "candidate") if _is_cell(entry["evidence"].get(name), at, n_max, c)]
    return {**entry, "as": sides[0] if sides else "another cell of its run"}


def _is_cell(side: View | None, at: str, n_max: int, c: int) -> bool:
    found = (side or {}).get(at) or {}
    return (found.get("n_max"), found.get("c")) == (n_max, c)


def _worksheets(house: House, run: View) -> list[View]:
    """Worksheets that read this run: the one it was started from."""
    row = house.store.worksheets.get(run["worksheet_id"]) if run["worksheet_id"] else None
    return [row] if row else []
