"""What the store can show for the three checklists. A line without evidence stays open."""

from __future__ import annotations

from typing import Any

from core.domain.checklists import DONE, NOT_MEASURED, OPEN, Line, failure_mode_lines, line, protocol_lines
from core.domain.diagnosis import Sight
from core.domain.matrix import measured_verdict
from core.domain.run import DONE as RUN_DONE
from core.services.access import authorize
from core.services.explain import ledger_of_view, sight_of
from core.services.house import House
from core.services.receipts import receipt
from core.services.worksheets import list_worksheets, show_worksheet

LATELY = 8  # worksheets looked at for suite runs, newest first
RUNS = 100  # finished runs looked at, newest first
_WHERE = {"copied_length": "run", "drift": "run", "no_suite": "worksheet", "one_stream": "worksheet"}


def failure_modes_of(house: House, view: dict[str, Any] | None) -> list[Line]:
    """The modes against the candidate of a worksheet, each with the door to where it is checked."""
    authorize(house, "see")
    cell = view["evidence"].candidate.single if view else None
    if view is None or cell is None or not cell["n"]:
        return failure_mode_lines(None)
    doors = {
        "run": ("run", {"run": cell["run_id"]}),
        "worksheet": ("worksheet", {"worksheet": view["worksheet"]["worksheet_id"]}),
        "receipt": ("receipt", {"cell": f"{cell['run_id']}-{cell['n_max']}-{cell['c']}"}),
    }
    lines = failure_mode_lines(_sight(house, doors["receipt"][1]["cell"]), serves_one_stream=view["evidence"].asked["production_c"] == 1)
    return [{**one, "door": doors[_WHERE.get(one["code"], "receipt")]} for one in lines]


def _sight(house: House, cell_id: str) -> Sight:
    found = receipt(house, cell_id, with_logs=True)
    return sight_of(house, found, ledger_of_view(found) if found["price"] else None)


def protocol_of(view: dict[str, Any] | None) -> list[Line]:
    """The protocol against a worksheet's run, with the door to it; empty without a worksheet."""
    if view is None:
        return []
    door = ("run", {"run": view["run_id"]}) if view["run_id"] else None
    return [{**one, "door": door if one["state"] == DONE else None} for one in protocol_lines(view["evidence"], view["gates"])]


def this_week(house: House) -> list[Line]:
    """Five things a team can do at once, ticked where one of the newest finished runs or worksheets of this store shows them."""
    authorize(house, "see")
    cells = _newest_cells(house)
    off = {(cell["run_id"], cell["c"]): cell for cell in cells if cell["n_max"] == 0}
    on = [cell for cell in cells if cell["n_max"]]
    counted = next((cell for cell in on if cell["steps"]), None)
    swept = next((cell for cell in on if (cell["run_id"], cell["c"]) in off), None)
    many = next((cell for cell in on if cell["c"] > 1 and (cell["run_id"], cell["c"]) in off), None)
    lost = next((cell for cell in on if measured_verdict(cell, off.get((cell["run_id"], cell["c"]))) == "loses"), None)
    return [
        _cell("Where speculation is on, write n_max and the accepted length beside tok/s.", counted),
        _cell("Run one sweep on a staging box, also where production seems fine.", swept),
        _cell("Measure the winner at the concurrency you serve, not at one stream alone.", many),
        _cell("Keep a losing cell in the runbook: it is the permission to stop.", lost),
        _suite(house),
    ]


def _newest_cells(house: House) -> list[dict[str, Any]]:
    """Cells with a counted repetition of the newest finished runs, newest run first, each with what its run was asked for."""
    runs = {run["run_id"]: run for run in house.store.runs.find(states=(RUN_DONE,), limit=RUNS)}
    cells = [{**cell, "request": runs[cell["run_id"]]["request"]} for cell in house.store.cells.of_runs(list(runs)) if cell["n"]]
    order = {run_id: place for place, run_id in enumerate(runs)}
    return sorted(cells, key=lambda cell: order[cell["run_id"]])


def _cell(text: str, cell: dict[str, Any] | None) -> Line:
    if cell is None:
        return line(text, OPEN, NOT_MEASURED)
    a = f", {cell['decode_tokens'] / cell['steps']:.2f} tokens per step" if cell["steps"] else ""
    words = f"{cell['request']['model']}, n_max {cell['n_max']} at c={cell['c']}: {cell['tok_per_s']:.1f} tok/s{a}"
    return line(text, DONE, words, door=("receipt", {"cell": f"{cell['run_id']}-{cell['n_max']}-{cell['c']}"}))


def _suite(house: House) -> Line:
    text = "Tie every change of speculation to a run of the product's own suite."
    for row in list_worksheets(house)[:LATELY]:
        view = show_worksheet(house, row["worksheet"]["worksheet_id"])
        gate = next(gate for gate in view["gates"] if gate["name"] == "suite")
        if gate["state"] in ("pass", "fail"):
            said = "within noise" if gate["state"] == "pass" else "not within noise"
            door = ("worksheet", {"worksheet": row["worksheet"]["worksheet_id"]})
            return line(text, DONE, f"“{row['worksheet']['title']}”: {said}", door=door)
    return line(text, OPEN, "No worksheet has suite runs on both sides yet.")
