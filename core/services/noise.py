"""Before a sweep starts: what the noise of an earlier one on the same box and model says about repetitions and minutes."""

from __future__ import annotations

from typing import Any

from core.domain.arms import BASELINE
from core.domain.looks import DIFFERENCE, noise_plan, too_long
from core.domain.run import ACTIVE, Proposal, SweepRequest, short
from core.errors import InvalidInput
from core.services.access import authorize
from core.services.house import House
from core.services.specs import hard_end_s

NO_PILOT = (
    "Not known yet: no sweep of this model and workload has run on this box. The sweep's opening baseline measures it, and the run page"
    " then says how many repetitions show a difference of 3 %, and what they cost in minutes."
)


def noise_words(house: House, values: dict[str, Any]) -> dict[str, Any]:
    """{state: ok | not_run, text, run_id, repetitions, minutes} for the sweep that stands in a form; `values` may be unfinished.

    The pilot is the opening baseline of the newest run with the same box, engine, model and workload; the plan is the form's own.
    """
    authorize(house, "see")
    empty = {"state": "not_run", "text": NO_PILOT, "run_id": None, "repetitions": None, "minutes": None}
    try:
        known = {key: value for key, value in values.items() if key in Proposal.model_fields}
        request = SweepRequest(**{**known, "title": "noise"})
        plan = request.plan(is_moe=True, placement="unknown")
    except (ValueError, InvalidInput):
        return {**empty, "text": "The noise plan is shown as soon as the fields above can be read."}
    same = ("box_id", "engine_id", "model", "workload_id")
    for run in house.store.runs.find():
        if run["state"] not in ACTIVE and all(run["request"].get(key) == values.get(key) for key in same):
            pilot = _pilot(house, run["run_id"])
            forced = 2 * plan.n_max * request.forced
            found = pilot and noise_plan(pilot[0], plan, repetition_s=pilot[1], load_s=pilot[2], difference=DIFFERENCE, forced=forced)
            if found:
                needed = found.repetitions
                minutes = found.minutes[needed or max(found.minutes)]
                text = f"{found.text} By the opening baseline of run {short(run['run_id'])}, the newest like this one."
                text += _limits_words(house, request, minutes) + too_long(
                    found, hard_end_s(plan, forced, [], house.box(request.box_id).limits.hours)
                )
                return {"state": "ok", "text": text, "run_id": run["run_id"], "repetitions": needed, "minutes": minutes}
    return empty


def _limits_words(house: House, request: SweepRequest, minutes: float) -> str:
    """What comes on top of these minutes, and a time budget that is shorter."""
    suites = [suite for suite in house.box(request.box_id).suites if suite.id in request.suites]
    beside = sum(suite.at_most_s(request.suite_runs) for suite in suites) / 60.0
    text = f" Tool suites come on top, {beside:.0f} minutes at most." if suites else ""
    if request.budget_min and minutes > request.budget_min:
        text += f" The time budget of {request.budget_min} minutes is shorter: longer drafts may be left out."
    return text


def _pilot(house: House, run_id: str) -> tuple[list[float], float, float] | None:
    """(rates, seconds a repetition, seconds a load) of a run's opening baseline, all its visits before the first step."""
    rates: list[float] = []
    each: list[float] = []
    load_s = 0.0
    for event in house.store.runs.events(run_id, kinds=("stage_done",)):
        body = event["body"]
        if body["stage"]["kind"] != BASELINE or body["status"] != "ok":
            break
        rates += body["tok_s"]
        if body.get("took_s"):
            load_s = max(load_s, body.get("load_s") or 0.0)
            each.append((body["took_s"] - (body.get("load_s") or 0.0)) / (body["stage"]["repetitions"] + 1))
    return (rates, max(each), load_s) if len(rates) >= 3 and each else None
