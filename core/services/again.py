"""Running again, always because a person asked: repeat is the same request once more, resume goes on where a run was interrupted."""

from __future__ import annotations

from typing import Any

from core.domain.run import CANCELLED, FAILED, FINAL, LOST, SweepRequest, short
from core.domain.sweep import OFF, STEP, Measured, Stage, winner
from core.errors import BoxBusy, PreflightRefused
from core.services.access import authorize
from core.services.house import House
from core.services.runs import get_run, start_run

_INTERRUPTED = (CANCELLED, FAILED, LOST)


def repeat_run(house: House, new_id: str, run_id: str, *, who: str) -> bool:
    """Asks for the same sweep again as attempt n+1, whole. False: that very id was asked for before (a second click)."""
    authorize(house, "run.start", new_id, signed=who)
    run = _ended(house, run_id)
    values = {**run["request"], "repeat_of": run_id, "attempt": run["request"].get("attempt", 1) + 1}
    return start_run(house, new_id, values, who=who)


def resume_run(house: House, new_id: str, run_id: str, *, who: str) -> bool:
    """Goes on with an interrupted run as a new segment, without the arms that are measured and no longer in the running.

    The baseline, and the n that leads so far, are measured anew: a speed-up is always taken within one run.
    Raises PreflightRefused where nothing is missing or nothing was measured yet.
    """
    authorize(house, "run.start", new_id, signed=who)
    run = _ended(house, run_id)
    goes_on = first_missing(house, run_id)
    if goes_on is None:
        raise PreflightRefused(f"Run {short(run_id)} has nothing that a further segment could add.", hint="Repeat it instead.")
    return start_run(house, new_id, {**run["request"], "segment_of": run_id, "first_n": goes_on}, who=who)


def first_missing(house: House, run_id: str) -> int | None:
    """The n a further segment would begin its climb with; None where a repeat is the right thing: done, or no step measured."""
    authorize(house, "see", run_id)
    run = get_run(house, run_id)
    if run["state"] not in _INTERRUPTED:
        return None
    done = _measured(house, run_id)
    steps = [item.stage.n_max for item in done if item.stage.kind == STEP and item.status == "ok"]
    request = SweepRequest(**run["request"])
    if not steps or any(item.stage.kind not in ("baseline", "baseline-between", STEP) for item in done):
        return None
    leads = winner(done) or OFF
    first = leads if leads != OFF else max(steps) + 1
    return first if request.first_n < first <= request.n_max else None


def again_words(request: dict[str, Any]) -> str:
    """How a run that was asked for again is told: “attempt 2, after r-1234”; "" for a first one."""
    if request.get("segment_of"):
        return f"goes on from {short(request['segment_of'])} with n={request['first_n']}; baseline measured anew"
    if request.get("repeat_of"):
        return f"attempt {request['attempt']}, after {short(request['repeat_of'])}"
    return ""


def _ended(house: House, run_id: str) -> dict[str, Any]:
    run = get_run(house, run_id)
    if run["state"] not in FINAL:
        raise BoxBusy(f"Run {short(run_id)} is {run['state']}. Nothing was started.", hint="Wait until it ends, or stop it.")
    return run


def _measured(house: House, run_id: str) -> list[Measured]:
    """Stages of the run that came to their end, as the sweep's rules take them."""
    bodies = [event["body"] for event in house.store.runs.events(run_id, kinds=("stage_done",))]
    return [_of(body["stage"], body) for body in bodies if body["stage"]["kind"] in _KINDS]


_KINDS = ("baseline", "baseline-between", "baseline-again", "step", "production", "load")


def _of(stage: dict[str, Any], body: dict[str, Any]) -> Measured:
    visit = Stage(stage["kind"], stage["n_max"], stage["c"], stage["repetitions"])
    return Measured(visit, tuple(body["tok_s"]), body["status"], body.get("reason", ""), body.get("code", ""))
