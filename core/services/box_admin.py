"""What an admin does to a registered box: change it, confirm a new host key, take it off the list. Each act is logged."""

from __future__ import annotations

from typing import Any

from core.domain.box import THIS_MACHINE, Box, BoxForm
from core.domain.forms import checked
from core.domain.run import ACTIVE, short
from core.errors import BoxBusy, InvalidInput
from core.services.access import authorize, record
from core.services.boxes import Pin, registered
from core.services.house import House

BOX, JUMP = "box", "jump"


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
        "jump": box.jump,
    }


def edit_box(house: House, box_id: str, values: dict[str, Any]) -> Box:
    """Registers the box anew under its id; the pinned key stays, whatever the address, and so does the jump host's while there is one.

    A jump host named only now is not entered before its key is pinned. Raises InvalidInput, NotFound, BoxBusy.
    """
    authorize(house, "box.edit", box_id)
    box = _ssh_box(house, box_id)
    form = checked(BoxForm, {**form_of(box), **values})
    changed = registered(
        form, box_id=box_id, host_key=box.host_key, fingerprint=box.fingerprint, suites=box.suites, jump=_pin_of(box, JUMP)
    )
    changed = changed.model_copy(update={"limits": box.limits})
    if len(box.engines) > 1 and changed.mode == box.mode:
        changed = changed.model_copy(update={"engines": [changed.engines[0], *box.engines[1:]]})
    house.store.boxes.put(changed, who=house.actor.name or house.actor.key, at=house.clock.now())
    before, after = form_of(box), form_of(changed)
    record(house, "box.edit", box_id, changed={name: [before[name], after[name]] for name in after if before[name] != after[name]})
    return changed


def read_shown_key(house: House, box_id: str, *, of: str = BOX) -> tuple[str, str]:
    """The key that the box, or its jump host, shows now, beside the pinned one: (key line, fingerprint). Nothing is stored."""
    authorize(house, "box.pin", box_id)
    return _shown(house, _ssh_box(house, box_id), of)


def _shown(house: House, box: Box, of: str) -> tuple[str, str]:
    jump = box.jump_address()
    if of == JUMP and jump is not None:
        return house.fetch_host_key(jump.host, jump.port)
    if of != BOX:
        raise InvalidInput({"box": "is reached directly: there is no jump host to pin."})
    return house.fetch_host_key(box.host, box.port, box) if jump else house.fetch_host_key(box.host, box.port)


def _pin_of(box: Box, of: str) -> Pin:
    return Pin(box.jump_host_key, box.jump_fingerprint) if of == JUMP else Pin(box.host_key, box.fingerprint)


def pin_key(house: House, box_id: str, *, key_line: str, fingerprint: str, seen: str, of: str = BOX) -> Box:
    """Pins the key that a person compared with the host's own words. `seen`: the pinned fingerprint they saw beside it; `of`: box | jump.

    Raises InvalidInput where another admin pinned one meanwhile or the host shows yet another key, NotFound, BoxBusy.
    """
    authorize(house, "box.pin", box_id)
    box = _ssh_box(house, box_id)
    before = _pin_of(box, of).fingerprint
    if before != seen:
        raise InvalidInput({"fingerprint": "was changed by somebody else meanwhile."}, hint="Read the key again, then compare anew.")
    if _shown(house, box, of) != (key_line, fingerprint):
        raise InvalidInput({"fingerprint": "is not the one the host shows now."}, hint="Nothing was pinned. Find out why the key changes.")
    names = ("jump_host_key", "jump_fingerprint") if of == JUMP else ("host_key", "fingerprint")
    pinned = box.model_copy(update=dict(zip(names, (key_line, fingerprint), strict=True)))
    house.store.boxes.put(pinned, who=house.actor.name or house.actor.key, at=house.clock.now())
    record(house, "box.pin", box_id, of=of, before=before, after=fingerprint)
    return pinned


def remove_box(house: House, box_id: str) -> None:
    """Takes a box off the list. What was measured on it stays. Raises InvalidInput, NotFound, BoxBusy."""
    authorize(house, "box.remove", box_id)
    box = _ssh_box(house, box_id)
    house.store.boxes.remove(box_id, who=house.actor.name or house.actor.key, at=house.clock.now())
    record(house, "box.remove", box_id, name=box.name, address=box.where)


def _ssh_box(house: House, box_id: str) -> Box:
    """A box that may be changed: not this machine, and no run is on it."""
    box = house.box(box_id)
    if box_id == THIS_MACHINE:
        raise InvalidInput({"box": "is this machine; its registration comes with the app."})
    active = [run for run in house.store.runs.find(states=ACTIVE) if run["box_id"] == box_id]
    if active:
        raise BoxBusy(f"Run {short(active[0]['run_id'])} is on {box.name}. Nothing was changed.", hint="Wait until it ends, or stop it.")
    return box
