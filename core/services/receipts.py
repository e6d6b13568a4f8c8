"""The receipt of one cell: the figure, its price, and everything it rests on."""

from __future__ import annotations

from typing import Any

from core.domain.imported import imported_cell, imported_price
from core.domain.matrix import column, measured_cell, measured_price, published_cell, published_price
from core.domain.recipe import differences
from core.errors import NotFound
from core.services.house import House
from core.services.matrix import groups_of
from core.services.readings import readings_of_arm


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
