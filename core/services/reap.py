"""Clears up from outside after a dead agent: what was ended, what is left, and what became of the run here."""

from __future__ import annotations

from typing import Any

from core.domain.forms import Name, Record, checked
from core.domain.run import FINAL
from core.errors import BoxBusy
from core.services.access import authorize, record
from core.services.follow import follow_once
from core.services.house import House
from core.services.runs import get_run


class Reaper(Record):
    """Who asks; the name travels to the box."""

    by: Name


def reap(house: House, box_id: str, *, run_id: str | None = None, who: str) -> dict[str, Any]:
    """Ends what dead agents left on a box: {box, reaped: [{run_id, ended, left}], left, holds_the_box, runs: [{run_id, state}]}.

    With a run it also closes that run's ledger on the box. A living agent is never touched: BoxBusy.
    Raises NotFound, RemoteError, NotAllowed.
    """
    authorize(house, "house.keep", f"reap {box_id}")
    who = checked(Reaper, {"by": who}).by
    box = house.open_box(house.box(box_id))
    if run_id is not None:
        get_run(house, run_id)
        if box.state(run_id).get("alive"):
            raise BoxBusy("The run's agent is alive. Nothing was ended.", title="Not a leftover", hint="Stop the run on its page instead.")
    reaped = list(box.reap()["reaped"])
    if run_id is not None:
        answer = box.cancel(run_id, who)
        if not any(one["run_id"] == run_id for one in reaped):
            reaped.append({"run_id": run_id, "ended": [], "left": answer["left"]})
    runs = []
    for one in {entry["run_id"] for entry in reaped}:
        if house.store.runs.get(one):
            follow_once(house, one)
            runs.append({"run_id": one, "state": get_run(house, one)["state"]})
    still = box.probe().get("busy")
    record(house, "house.keep", f"reap {box_id}", run=run_id, ended=[pid for one in reaped for pid in one["ended"]])
    return {
        "box": box_id, "reaped": reaped, "left": sorted({pid for one in reaped for pid in one["left"]}), "holds_the_box": still,
        "runs": runs, "still_open": [one["run_id"] for one in runs if one["state"] not in FINAL],
    }  # fmt: skip
