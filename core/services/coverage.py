"""What is not measured, failed or old, per model, spill and workload; and the controls that a claim still wants."""

from __future__ import annotations

from typing import Any

from core.domain.coverage import claims_of, controls_of, covered, places_of
from core.domain.matrix import COLUMNS
from core.domain.run import FAILED, LOST
from core.services.access import authorize
from core.services.house import House
from core.services.matrix import rows_of
from core.services.matrix_heads import Head

Row = dict[str, Any]


def places(house: House, heads: list[Head]) -> list[Row]:
    """Every model × spill × box of these heads with every workload of the catalog; nothing is added up yet."""
    authorize(house, "see")
    return places_of(heads, sorted(house.workloads))


def coverage_of(house: House, some: list[Row]) -> tuple[list[Row], list[Row]]:
    """(places with their states, claims with their controls) of these places; only their runs are looked at."""
    authorize(house, "see")
    heads = list({id(head): head for place in some for head in place["heads"]}.values())
    rows = rows_of(house, heads)
    by_head = {id(head): row for head, row in zip(heads, rows, strict=True)}
    states = [covered(place, [by_head[id(head)] for head in place["heads"]], COLUMNS) for place in some]
    others = house.store.cells.drafting_arms()
    return states, [{**claim, "controls": controls_of(claim, others)} for claim in claims_of(rows)]


def failed_runs(house: House, heads: list[Head]) -> list[Row]:
    """Runs that failed or were lost and left no row: {run_id, title, box_id, model, state, note}, newest first."""
    authorize(house, "see")
    shown = {head["run_id"] for head in heads}
    return [
        {**{name: run[name] for name in ("run_id", "title", "box_id", "state", "note")}, "model": run["request"]["model"]}
        for run in house.store.runs.find(states=(FAILED, LOST), limit=100)
        if run["run_id"] not in shown
    ]
