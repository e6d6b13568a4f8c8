"""The queue of a box: one run at a time, in the order they were asked for. A run that waits has started nothing."""

from __future__ import annotations

from typing import Any

from core.domain.run import ACTIVE, PREPARING, QUEUED, short
from core.services.access import authorize
from core.services.house import House


def queue_of(house: House, box_id: str) -> list[dict[str, Any]]:
    """Runs that are on a box or wait for it: the one that is on it first, then by when they were asked for."""
    authorize(house, "see", box_id)
    active = [run for run in house.store.runs.find(states=ACTIVE) if run["box_id"] == box_id]
    return sorted(active, key=lambda run: (run["state"] == QUEUED, run["created_at"], run["run_id"]))


def ahead_of(house: House, run: dict[str, Any]) -> list[dict[str, Any]]:
    """Runs that come before this one on its box; empty when it is its turn."""
    authorize(house, "see")
    line = queue_of(house, run["box_id"])
    place = next((number for number, one in enumerate(line) if one["run_id"] == run["run_id"]), 0)
    return line[:place]


def take_turn(house: House, run: dict[str, Any]) -> bool:
    """Whether a queued run may go to its box now; where it stands is its note until then."""
    authorize(house, "run.start")
    ahead = ahead_of(house, run)
    if not ahead and run["spec"]:
        return True  # it was at the box before, which was held by a stranger
    if not ahead:
        house.store.runs.set_state(run["run_id"], state=PREPARING, note="Its turn has come.")
        return True
    _say(house, run, waits_behind(ahead))
    return False


def wait_for_stranger(house: House, run: dict[str, Any], holder: str) -> None:
    """The box itself says that a run we did not start has it: named, never ended; asked again later."""
    authorize(house, "run.start")
    name = short(holder) if holder else "a run without a name"
    note = f"Waiting: {run['box_id']} is held by run {name}, which was not started from here."
    now = house.store.runs.get(run["run_id"])
    if now is not None and not now["cancel_at"] and (now["state"], now["note"]) != (QUEUED, note):
        house.store.runs.set_state(run["run_id"], state=QUEUED, note=note)


def waits_behind(ahead: list[dict[str, Any]]) -> str:
    """“Waiting: number 2, behind r-1234 (Ada)”."""
    first = ahead[0]
    more = f" and {len(ahead) - 1} more" if len(ahead) > 1 else ""
    return f"Waiting: number {len(ahead)} in the queue, behind {short(first['run_id'])} ({first['requested_by']}){more}."


def _say(house: House, run: dict[str, Any], note: str) -> None:
    if run["note"] != note:
        house.store.runs.set_state(run["run_id"], note=note)
