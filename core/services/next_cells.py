"""Which cell to measure next: for one receipt, and over all rows, the most telling first."""

from __future__ import annotations

from statistics import median
from typing import Any

from core.domain.next_cell import Advice, Brief, RowFacts, advise
from core.services.access import authorize
from core.services.house import House
from core.services.matrix import matrix_rows

View = dict[str, Any]
ROWS_ASKED = 50  # rows whose runs are looked into; the newest come first


def brief(cell: View) -> Brief:
    """A matrix cell as the rule reads it."""
    return Brief(cell["status"], cell["verdict"], cell["speedup"], cell["accept_share"], cell["n"])


def _briefs(cells: dict[int, View]) -> dict[int, Brief]:
    return {n: brief(cell) for n, cell in cells.items() if cell["status"] != "not_run"}


def facts_of_receipt(view: View) -> RowFacts:
    """The row of a receipt. Above one stream there is nothing to climb: the facts are empty then."""
    if view["c"] != 1 or view["n_max"] is None:
        return RowFacts({})
    run = view["run"] or {}
    production_c = (run.get("request") or {}).get("production_c")
    beside = {one["n_max"]: Brief() for one in view["run_cells"] if one["c"] == production_c and one["n"]}
    return RowFacts(
        _briefs(view["row"]),
        production=beside if production_c and production_c > 1 else {},
        production_c=production_c,
        drifted=next((event["body"].get("drifted") for event in view["events"] if event["kind"] == "run_finished"), None),
        spilled=view["spill"].get("state") == "spilled",
        last_position=_last_position(view),
        arm_s=_arm_s(view["run_cells"]),
        rests=tuple(rests_words(entry) for entry in view["decisions"]),
    )


def rests_words(entry: View) -> str:
    """“entry 3: KEEP by Ada”."""
    return f"entry {entry['number']}: {entry['verdict'].upper()} by {entry['owner']}"


def _last_position(view: View) -> float | None:
    """Share of steps that reach the end of the row's longest draft, where this receipt is that draft's."""
    longest = max((n for n, cell in view["row"].items() if cell["status"] == "ok"), default=0)
    shares = [row["per_position"] for row in view["samples"] if row["counted"] and row["per_position"]]
    return shares[-1][-1] if shares and view["n_max"] == longest else None


def _arm_s(cells: list[View]) -> float | None:
    """Seconds an arm takes, from the first to the last repetition of those measured, the first one's own time added."""
    took = [
        (cell["last_at"] - cell["first_at"]).total_seconds() * (cell["n"] + 1) / cell["n"]
        for cell in cells
        if cell["n"] and cell["c"] == 1 and cell["last_at"] > cell["first_at"]
    ]
    return median(took) if took else None


def next_cells(house: House, rows: list[View] | None = None, *, limit: int = 5) -> list[View]:
    """{model, spill, provenance, run_id, cell_id, advice} for the rows with the most telling open cells.

    `rows`: of `matrix_rows`, where the caller has them already. `cell_id`: a measured cell of the row, to go on from.
    """
    authorize(house, "see")
    rows = matrix_rows(house) if rows is None else rows
    found, decisions = [], house.store.decisions.all()
    for row in [one for one in rows if one["c"] == 1][:ROWS_ASKED]:
        facts = _facts_of_row(house, row, rows, decisions)
        found += [{**_where(row), "advice": advice} for advice in advise(facts)[:1]]
    return sorted(found, key=lambda one: (_order(one["advice"]), one["provenance"] != "measured"))[:limit]


def _order(advice: Advice) -> tuple[int, float]:
    """Rows that a decision rests on first, then the quicker sweep; unknown time last."""
    return (0 if advice.rests else 1, advice.minutes if advice.minutes is not None else float("inf"))


def _where(row: View) -> View:
    cell_id = next((cell["cell_id"] for cell in row["cells"].values() if cell["cell_id"]), None)
    return {
        "model": row["model"],
        "spill": row["spill"]["label"],
        "provenance": row["provenance"],
        "run_id": row["run_id"],
        "cell_id": cell_id,
    }


def _facts_of_row(house: House, row: View, rows: list[View], decisions: list[View]) -> RowFacts:
    cells = _briefs({0 if name == "off" else int(name): cell for name, cell in row["cells"].items()})
    spilled = row["spill"]["state"] == "spilled"
    if not row["run_id"]:
        return RowFacts(cells, spilled=spilled)
    run = house.store.runs.get(row["run_id"]) or {"request": {}}
    finished: View = next((event["body"] for event in house.store.runs.events(row["run_id"], kinds=("run_finished",))), {})
    production_c = run["request"].get("production_c")
    beside: View = next((one["cells"] for one in rows if one["run_id"] == row["run_id"] and one["c"] == production_c), {})
    rests = [rests_words(one) for one in decisions if one["evidence"].get("run_id") == row["run_id"]]
    return RowFacts(
        cells,
        production={0 if name == "off" else int(name): brief(cell) for name, cell in beside.items() if cell["status"] != "not_run"},
        production_c=production_c,
        drifted=finished.get("drifted"),
        spilled=spilled,
        arm_s=_arm_s(house.store.cells.of_run(row["run_id"])),
        rests=tuple(rests),
    )
