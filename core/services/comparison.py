"""What a person chooses on a worksheet: the measured recipes in the two columns, what is asked to be measured, the traffic shares."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from core.domain.forms import Record, checked
from core.domain.run import FINAL
from core.domain.traffic import TrafficShares
from core.errors import InvalidInput
from core.services.access import authorize
from core.services.house import House
from core.services.worksheets import SIDES, add_entry, get_worksheet

MOST = 200  # arms offered a side, newest first


class Plan(Record):
    """What a worksheet asks for and may still be changed while it is open."""

    n_max: int = Field(ge=1, le=16)
    repetitions: int = Field(ge=3, le=8)
    production_c: int = Field(ge=1, le=64)


def change_plan(house: House, worksheet_id: str, values: dict[str, Any], *, by: str, over: int | None = None) -> dict[str, Any]:
    """Asks for another concurrency, n_max or number of repetitions; runs that were made stay as they are. Raises InvalidInput."""
    authorize(house, "work.type", worksheet_id, signed=by)
    problems = {} if by.strip() else {"by": "is needed."}
    try:
        plan = checked(Plan, values)
    except InvalidInput as error:
        raise InvalidInput(error.problems | problems) from error
    return add_entry(house, worksheet_id, "plan", "candidate", plan.model_dump(), by=by, over=over)


def measured_arms(house: House, worksheet: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Measured recipes for either side, those of the worksheet's own model first, newest first:

    {run_id, n_max, model, box_id, build, spill, context, workload, title, at}
    """
    authorize(house, "see")
    asked: dict[str, Any] = {"first_model": worksheet["body"]["model"], "states": FINAL, "limit": MOST}
    return {side: house.store.cells.arms(is_candidate=side == "candidate", **asked) for side in SIDES}


def choose_arm(
    house: House, worksheet_id: str, side: str, run_id: str | None, n_max: int = 0, *, by: str, over: int | None = None
) -> dict[str, Any]:
    """Puts a measured recipe into a column; run_id None: back to the worksheet's own newest run. Raises InvalidInput, NotFound."""
    authorize(house, "work.type", worksheet_id, signed=by)
    worksheet = get_worksheet(house, worksheet_id)
    known = {(arm["run_id"], arm["n_max"]) for arm in measured_arms(house, worksheet)[side]} if side in SIDES else set()
    if run_id is not None and (run_id, n_max) not in known:
        raise InvalidInput({side: "has to be one of the measured recipes: off on the baseline side, n_max 1 or more on the candidate's."})
    value = None if run_id is None else {"run_id": run_id, "n_max": n_max}
    return add_entry(house, worksheet_id, "recipe", side, value, by=by, over=over)


def type_traffic(house: House, worksheet_id: str, percent: dict[str, float], *, by: str, over: int | None = None) -> dict[str, Any]:
    """Traffic shares in percent by workload, typed in with a name; those of 0 are left out. Raises InvalidInput, NotFound."""
    authorize(house, "work.type", worksheet_id, signed=by)
    get_worksheet(house, worksheet_id)
    problems = {} if by.strip() else {"by": "is needed."}
    try:
        shares = checked(TrafficShares, {"shares": {name: one / 100 for name, one in percent.items() if one}})
    except InvalidInput as error:
        raise InvalidInput(error.problems | problems) from error
    for name in shares.shares:
        house.workload(name)
    return add_entry(house, worksheet_id, "traffic", "candidate", shares.shares, by=by, over=over)
