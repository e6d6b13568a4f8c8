"""What waits, and for whom: silent boxes, decisions to sign, runs, worksheets that miss something."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from core.domain.matrix import measured_verdict
from core.domain.run import ACTIVE, FAILED, LOST
from core.services.access import authorize
from core.services.boxes import list_boxes
from core.services.house import House
from core.services.runs import list_runs
from core.services.worksheets import show_worksheet

FINISHED_LATELY = timedelta(days=7)
WORKSHEETS_LOOKED_AT, RUNS_LOOKED_AT = 12, 12
Item = dict[str, Any]


def waiting_for(house: House, who: str) -> dict[str, list[Item]]:
    """{mine, others}: items in the order of their weight, each {kind: box | sign | run | missing, of, is_mine, …}.

    A box that does not answer is everybody's; a run belongs to who asked for it, a worksheet to who proposed it or typed into it.
    Without a name everything is `mine`.
    """
    authorize(house, "see")
    items = [*_silent_boxes(house), *_worksheets(house, who), *_runs(house, who)]
    ordered = sorted(items, key=lambda item: ("box", "sign", "run", "missing").index(item["kind"]))
    return {
        "mine": [item for item in ordered if item["is_mine"] or not who],
        "others": [item for item in ordered if who and not item["is_mine"]],
    }


def _silent_boxes(house: House) -> list[Item]:
    return [{"kind": "box", "of": entry, "is_mine": True} for entry in list_boxes(house) if entry["check"] and not entry["check"]["ok"]]


def _runs(house: House, who: str) -> list[Item]:
    now = house.clock.now()
    decided = {entry["worksheet_id"] for entry in house.store.decisions.all()}  # a run that was decided on waits for nobody
    fresh = [run for run in list_runs(house) if run["ended_at"] is None or _is_fresh(run, now, decided)]
    return [
        {"kind": "run", "of": run, "is_mine": run["requested_by"] == who, "is_active": run["state"] in ACTIVE,
         "is_bad": run["state"] in (FAILED, LOST), "losing": _losing(house, run), "box": house.box_name(run["box_id"])}
        for run in fresh[:RUNS_LOOKED_AT]
    ]  # fmt: skip


def _is_fresh(run: dict[str, Any], now: datetime, decided: set[str]) -> bool:
    return now - run["ended_at"] < FINISHED_LATELY and run["worksheet_id"] not in decided


def _losing(house: House, run: dict[str, Any]) -> tuple[int, int] | None:
    """(cells, losing ones by the noise rule) of a run that is over; None while it runs."""
    if run["state"] in ACTIVE:
        return None
    cells = [cell for cell in house.store.cells.of_run(run["run_id"]) if cell["n"]]
    off = {cell["c"]: cell for cell in cells if cell["n_max"] == 0}
    lost = [cell for cell in cells if measured_verdict(cell, off.get(cell["c"])) == "loses"]
    return len(cells), len(lost)


def _worksheets(house: House, who: str) -> list[Item]:
    decided = {entry["worksheet_id"] for entry in house.store.decisions.all()}
    undecided = [row["worksheet_id"] for row in house.store.worksheets.all() if row["worksheet_id"] not in decided]
    return [_sheet(house, show_worksheet(house, worksheet_id), who) for worksheet_id in undecided[:WORKSHEETS_LOOKED_AT]]


def _sheet(house: House, view: dict[str, Any], who: str) -> Item:
    """To sign once every gate but the owner's passes; else it misses the rows and gates that are open."""
    row = view["worksheet"]
    still = [gate["label"] for gate in view["gates"] if gate["state"] != "pass" and gate["name"] != "owner"]
    fields = [field["label"] for field in view["fields"] if field["state"] != "ok" and field["key"] not in ("decision", "owner")]
    typed = {entry["typed_by"] for entry in house.store.worksheets.entries(row["worksheet_id"])}
    return {
        "kind": "missing" if still else "sign", "of": row, "is_mine": who == row["created_by"] or who in typed, "fields": fields,
        "gates": still, "priced": view["priced"], "suggestion": view["suggestion"],
    }  # fmt: skip


def is_new_house(house: House) -> bool:
    """Nothing was proposed and nothing ran: the start page then shows one way to begin."""
    authorize(house, "see")
    return not house.store.worksheets.all() and not house.store.runs.find(limit=1)
