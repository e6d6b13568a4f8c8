"""Which rows the matrix has, before any figure is added up: one light head a row, from runs, imported files and published figures."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from core.domain.imported_row import row_key
from core.domain.matrix_filter import MatrixFilter, arranged, fits
from core.domain.stale import build_text, stale_reasons
from core.formats.version import read_version
from core.services.access import authorize
from core.services.house import House

Head = dict[str, Any]
KNOWN = ("model", "build", "box", "workload", "context", "c", "provenance")


def all_heads(house: House) -> list[Head]:
    """Every row's head: measured first (newest run first), then imported ones, then published ones. `source` holds what it is made of.

    Kept until something is written or the day turns, so that a click on a filter asks the database nothing. Read-only.
    """
    authorize(house, "see")
    made: list[Head] = house.keep("heads", house.clock.now().date(), lambda: _measured(house) + _imported(house) + _published(house))
    return made


def chosen_heads(heads: list[Head], wanted: MatrixFilter, sort: str, now: datetime) -> list[Head]:
    """The heads that fit, arranged: models together, within a model as `sort` says."""
    return arranged(heads if wanted == MatrixFilter() else [head for head in heads if fits(head, wanted, now)], sort)


def known_of(house: House) -> dict[str, list[Any]]:
    """The same of every row, kept like the rows."""
    authorize(house, "see")
    known: dict[str, list[Any]] = house.keep("known", None, lambda: known_values(all_heads(house)))
    return known


def known_values(heads: list[Head]) -> dict[str, list[Any]]:
    """Per filter the values that rows hold, sorted."""
    return {name: sorted({head[name] for head in heads} - {None}) for name in KNOWN}


def _measured(house: House) -> list[Head]:
    checks, heads = _checks(house), []
    for row in house.store.cells.row_heads():
        spill = {"label": row["spill_label"] or "unknown", "layers": row["spill_layers"], "host_mib": row["host_mib"],
                 "host_share": row["host_share"], "state": row["spill_state"] or "unknown"}  # fmt: skip
        row["check"] = checks.get((row["box"], row["engine_id"]))
        heads.append(
            {"model": row["model"], "spill": spill, "box": row["box"], "build": build_text(row["build"], row["commit"]),
             "context": row["context"], "workload": row["workload"], "c": row["c"], "provenance": "measured", "run_id": row["run_id"],
             "at": row["ran_at"], "key": (row["run_id"], row["c"]), "source": row}
        )  # fmt: skip
    return heads


def stale_of(head: Head, now: datetime) -> list[str]:
    """Why the row is stale; only what was measured here can be."""
    return stale_reasons(head["source"], head["source"]["check"], now) if head["provenance"] == "measured" else []


def _checks(house: House) -> dict[tuple[str, str], dict[str, Any]]:
    """(box, engine) → what the newest check of the box saw: build, commit, driver."""
    found = {}
    for box in house.store.boxes.all():
        check = house.store.boxes.latest_check(box.box_id)
        if not check or not check["ok"]:
            continue
        gpus = (check["report"].get("gpus") or {}).get("list") or [{}]
        for engine in check["report"].get("engines") or []:
            build, commit = read_version(engine.get("version_text") or "")
            seen = {"noted_at": check["noted_at"], "build": build, "commit": commit, "driver": gpus[0].get("driver")}
            found[box.box_id, engine.get("id")] = seen
    return found


def groups_of(cells: list[dict[str, Any]]) -> list[dict[int, dict[str, Any]]]:
    """Imported cells by n_max, one group a row. A cell whose n_max is unknown has no column and stays out."""
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


def _imported(house: House) -> list[Head]:
    heads = []
    for group in groups_of(house.store.imports.cells()):
        first = next(iter(group.values()))
        heads.append(
            {"model": first["model"], "spill": first["placement"], "box": None, "build": first["build"], "context": first["context"],
             "workload": first["workload"], "c": first["c"], "provenance": "imported", "run_id": None, "at": first["noted_at"],
             "key": (first["sha256"], first["position"]), "source": group}
        )  # fmt: skip
    return heads


def _published(house: House) -> list[Head]:
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for cell in house.store.published.cells():
        groups.setdefault((cell["source"], cell["row_key"]), []).append(cell)
    heads = []
    for cells in groups.values():
        first = cells[0]
        spill = {"label": first["spill_label"], "layers": first["spill_layers"], "host_mib": None, "host_share": None,
                 "state": "resident" if first["spill_layers"] == 0 else "spilled"}  # fmt: skip
        heads.append(
            {"model": first["model"], "spill": spill, "box": None, "build": None, "context": None, "workload": None, "c": 1,
             "provenance": "transcribed", "run_id": None, "at": None,
             "key": (first["source"], first["row_key"]), "source": cells}
        )  # fmt: skip
    return heads
