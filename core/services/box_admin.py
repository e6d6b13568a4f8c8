"""What an admin does to a registered box: change it, confirm a new host key, take it off the list. Each act is logged."""

from __future__ import annotations

from typing import Any

from core.domain.box import THIS_MACHINE, Box, BoxForm
from core.domain.forms import checked
from core.domain.run import ACTIVE, short
from core.errors import BoxBusy, InvalidInput
from core.services.access import authorize, record
from core.services.boxes import registered
from core.services.house import House


def form_of(box: Box) -> dict[str, Any]:
    """The registration as its form shows it."""
    engine = box.engines[0]
    return {
        "name": box.name,
        "mode": box.mode,
        "host": box.host,
        "port": box.port,
        "user": box.user,
        "key_path": box.key_path,
        "engine": engine.id if box.mode == "locked" else engine.argv[0],
        "models": (box.model_roots or [model.path for model in box.models] or [""])[0],
        "python": box.python[0],
    }


def edit_box(house: House, box_id: str, values: dict[str, Any]) -> Box:
    """Registers the box anew under its id; the pinned key stays, whatever the address. Raises InvalidInput, NotFound, BoxBusy."""
    authorize(house, "box.edit", box_id)
    box = _ssh_box(house, box_id)
    form = checked(BoxForm, {**form_of(box), **values})
    changed = registered(form, box_id=box_id, host_key=box.host_key, fingerprint=box.fingerprint, suites=box.suites)
    changed = changed.model_copy(update={"limits": box.limits})
    if len(box.engines) > 1 and changed.mode == box.mode:
        changed = changed.model_copy(update={"engines": [changed.engines[0], *box.engines[1:]]})
    house.store.boxes.put(changed, who=house.actor.name or house.actor.key, at=house.clock.now())
    before, after = form_of(box), form_of(changed)
    record(house, "box.edit", box_id, changed={name: [before[name], after[name]] for name in after if before[name] != after[name]})
    return changed


def read_shown_key(house: House, box_id: str) -> tuple[str, str]:
    """The key the box shows now, beside the pinned one: (key line, fingerprint). Nothing is stored."""
    authorize(house, "box.pin", box_id)
    box = _ssh_box(house, box_id)
    return house.fetch_host_key(box.host, box.port)


def pin_key(house: House, box_id: str, *, key_line: str, fingerprint: str, seen: str) -> Box:
    """Pins the key that a person compared with the box's own words. `seen`: the pinned fingerprint they saw beside it.

    Raises InvalidInput where another admin pinned one meanwhile or the box shows yet another key, NotFound, BoxBusy.
    """
    authorize(house, "box.pin", box_id)
    box = _ssh_box(house, box_id)
    if box.fingerprint != seen:
        raise InvalidInput({"fingerprint": "was changed by somebody else meanwhile."}, hint="Read the key again, then compare anew.")
    if house.fetch_host_key(box.host, box.port) != (key_line, fingerprint):
        raise InvalidInput({"fingerprint": "is not the one the box shows now."}, hint="Nothing was pinned. Find out why the key changes.")
    pinned = box.model_copy(update={"host_key": key_line, "fingerprint": fingerprint})
    house.store.boxes.put(pinned, who=house.actor.name or house.actor.key, at=house.clock.now())
    record(house, "box.pin", box_id, before=box.fingerprint, after=fingerprint)
    return pinned


def remove_box(house: House, box_id: str) -> None:
    """Takes a box off the list. What was measured on it stays. Raises InvalidInput, NotFound, BoxBusy."""
    authorize(house, "box.remove", box_id)
    box = _ssh_box(house, box_id)
    house.store.boxes.remove(box_id, who=house.actor.name or house.actor.key, at=house.clock.now())
    record(house, "box.remove", box_id, name=box.name, address=f"{box.user}@{box.host}:{box.port}")


def _ssh_box(house: House, box_id: str) -> Box:
    """A box that may be changed: not this machine, and no run is on it."""
    box = house.box(box_id)
    if box_id == THIS_MACHINE:
        raise InvalidInput({"box": "is this machine; its registration comes with the app."})
    active = [run for run in house.store.runs.find(states=ACTIVE) if run["box_id"] == box_id]
    if active:
        raise BoxBusy(f"Run {short(active[0]['run_id'])} is on {box.name}. Nothing was changed.", hint="Wait until it ends, or stop it.")
    return box
