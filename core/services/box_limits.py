"""Numeric limits of a box: set by admins, asked before a run is taken on. The agent asks again, by its own copy."""

from __future__ import annotations

from typing import Any

from core.domain.box import THIS_MACHINE, Box
from core.domain.box_limits import Limits
from core.domain.forms import checked
from core.domain.run import SweepRequest
from core.errors import InvalidInput
from core.services.access import authorize, record
from core.services.house import House


def set_limits(house: House, box_id: str, values: dict[str, Any]) -> Box:
    """Registers the box with other limits; an empty one is none. Counts from the next run on. Raises InvalidInput, NotFound."""
    authorize(house, "box.edit", box_id)
    box = house.box(box_id)
    if box.box_id == THIS_MACHINE:
        raise InvalidInput({"box": "comes with the app and has no limits of its own."})
    limits = checked(Limits, values)
    changed = box.model_copy(update={"limits": limits})
    house.store.boxes.put(changed, who=house.actor.name or house.actor.key, at=house.clock.now())
    record(house, "box.edit", box_id, limits=limits.set_ones(), limits_before=box.limits.set_ones())
    return changed


def refuse_beyond(house: House, box: Box, request: SweepRequest) -> None:
    """Raises InvalidInput where the sweep asks for more than the box may be asked for."""
    authorize(house, "see", box.box_id)
    problems = box.limits.problems(request, request.context or house.workload(request.workload_id).context)
    if problems:
        raise InvalidInput(problems, hint="Nothing was started. An admin set these limits (menu: Boxes).")
