"""Arms whose stage failed before one repetition was kept: the cell they leave on the matrix, and the engine starts that tell why."""

from __future__ import annotations

from typing import Any

from core.domain.matrix import unmeasured_arm
from core.services.access import authorize
from core.services.house import House

NEVER_READ = {"state": "unknown", "label": "not read back: the engine never answered"}


def failed_arms(house: House, run_id: str, c: int) -> dict[int, dict[str, Any]]:
    """n_max → arm in the form of a measured one, without a single figure, of the stages at c that failed."""
    authorize(house, "see", run_id)
    stages = [stage for stage in house.store.cells.failed_stages([run_id]) if stage["c"] == c]
    return {stage["n_max"]: unmeasured_arm(run_id, stage["n_max"], c, stage["reason"]) for stage in stages}


def starts_of(house: House, run_id: str, n_max: int, c: int) -> list[dict[str, Any]]:
    """Engine starts of an arm of the sweep, those included that never answered: {server, n_max, c, argv, placement, load_s}."""
    authorize(house, "see", run_id)
    ready = {row["server"]: row for row in house.store.cells.servers(run_id) if (row["n_max"], row["c"]) == (n_max, c)}
    begun = [event["body"] for event in house.store.runs.events(run_id, kinds=("server_starting",))]
    mine = [one for one in begun if (one["n_max"], one["c"]) == (n_max, c) and one.get("purpose", "sweep") == "sweep"]
    never = {one["server"]: {**one, "placement": NEVER_READ, "load_s": None} for one in mine if one["server"] not in ready}
    return [start for _, start in sorted({**ready, **never}.items())]
