"""The queue of a box: one run at a time, as they were asked for unless somebody changed the order. What waits has started nothing."""

from __future__ import annotations

import threading
from typing import Any

from core.domain.run import ACTIVE, PREPARING, QUEUED, short
from core.errors import BoxBusy, InvalidInput, NotFound
from core.services.access import authorize, record
from core.services.house import House

FIRST, EARLIER, LATER = "first", "earlier", "later"
_ORDERING = threading.Lock()


def queue_of(house: House, box_id: str) -> list[dict[str, Any]]:
    """Runs that are on a box or wait for it: the one on it first, then as somebody ordered them, then as they were asked for."""
    authorize(house, "see", box_id)
    active = [run for run in house.store.runs.find(states=ACTIVE) if run["box_id"] == box_id]
    return sorted(active, key=_place)


def _place(run: dict[str, Any]) -> tuple[Any, ...]:
    place = run["queue_place"] if run["state"] == QUEUED else None
    return run["state"] == QUEUED, place is None, place or 0, run["created_at"], run["run_id"]


def move_in_queue(house: House, run_id: str, to: str) -> None:
    """Moves a waiting run to the front, or one place: FIRST, EARLIER, LATER. Nothing that is on the box is touched.

    Raises NotFound, BoxBusy (it waits no more), InvalidInput.
    """
    authorize(house, "run.order", run_id)
    if to not in (FIRST, EARLIER, LATER):
        raise InvalidInput({"to": f"has to be {FIRST}, {EARLIER} or {LATER}."})
    with _ORDERING:
        run = house.store.runs.get(run_id)
        if run is None:
            raise NotFound("run", run_id)
        line = [one["run_id"] for one in queue_of(house, run["box_id"]) if one["state"] == QUEUED]
        if run_id not in line:
            raise BoxBusy(f"Run {short(run_id)} waits no more: it is {run['state']}. The order is as it was.", title="Not in the queue")
        before = line.index(run_id)
        after = min(max({FIRST: 0, EARLIER: before - 1, LATER: before + 1}[to], 0), len(line) - 1)
        if after == before:
            return
        line.insert(after, line.pop(before))
        house.store.runs.reorder(line)
    record(house, "run.order", run_id, box=run["box_id"], before=before + 1, after=after + 1)
    house.wake.set()


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
