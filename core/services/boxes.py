"""Boxes: register, confirm the host key, check, and say which models and engines are there."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from core.domain.box import LOCKED, OWNERS_PATH, Box, BoxForm, Engine, Jump, ModelFile, Suite
from core.domain.forms import checked
from core.domain.run import QUEUED
from core.errors import BenchError, InvalidInput
from core.services.access import authorize, record
from core.services.house import House
from core.services.queue import queue_of


class Pin(NamedTuple):
    """A host key that a person confirmed, or is asked to confirm."""

    key_line: str = ""
    fingerprint: str = ""


NO_PIN = Pin()


def list_boxes(house: House) -> list[dict[str, Any]]:
    """Every box with its newest check, the run that holds it, if any, and `queue`: runs that wait for it, in order."""
    authorize(house, "see")
    lines = {box.box_id: queue_of(house, box.box_id) for box in house.store.boxes.all()}
    return [
        {
            "box": box,
            "check": house.store.boxes.latest_check(box.box_id),
            "run": next((run for run in lines[box.box_id] if run["state"] != QUEUED), None),
            "queue": [run for run in lines[box.box_id] if run["state"] == QUEUED],
        }
        for box in house.store.boxes.all()
    ]


def read_jump_key(house: House, values: dict[str, Any]) -> tuple[BoxForm, Pin]:
    """Before the first half, for a box behind a jump host: asks that one for its key. A person compares it; then `read_host_key`."""
    authorize(house, "box.add")
    form = checked(BoxForm, values)
    _refuse_taken_name(house, form.name)
    if not form.jump:
        raise InvalidInput({"jump": "is empty: this box is reached directly."})
    jump = Jump.read(form.jump)
    return form, Pin(*house.fetch_host_key(jump.host, jump.port))


def read_host_key(house: House, values: dict[str, Any], *, jump: Pin = NO_PIN) -> tuple[BoxForm, str, str]:
    """First half of adding a box: checks the form and asks the host for its key: (form, key line, fingerprint).

    `jump`: the confirmed key of the jump host; the box is asked through it. Nothing is stored; a person compares the fingerprint
    before `add_box`.
    """
    authorize(house, "box.add")
    form = checked(BoxForm, values)
    _refuse_taken_name(house, form.name)
    _need_jump_pin(form, jump)
    if not form.jump:
        return form, *house.fetch_host_key(form.host, form.port)
    draft = registered(form, box_id=_box_id(form.name), host_key="", fingerprint="", jump=jump)
    return form, *house.fetch_host_key(form.host, form.port, draft)


def add_box(house: House, form: BoxForm, *, key_line: str, fingerprint: str, who: str, jump: Pin = NO_PIN) -> Box:
    """Second half: the person has confirmed the fingerprint (behind a jump host both), the key is pinned."""
    authorize(house, "box.add")
    _refuse_taken_name(house, form.name)
    _need_jump_pin(form, jump)
    box = registered(form, box_id=_box_id(form.name), host_key=key_line, fingerprint=fingerprint, jump=jump)
    house.store.boxes.put(box, who=who, at=house.clock.now())
    keys = {"fingerprint": fingerprint, **({"jump_fingerprint": jump.fingerprint} if form.jump else {})}
    record(house, "box.add", box.box_id, address=box.where, mode=form.mode, **keys)
    return box


def _need_jump_pin(form: BoxForm, jump: Pin) -> None:
    if form.jump and not jump.key_line:
        raise InvalidInput({"jump": "has to show its key first, and a person has to confirm it."})


def registered(
    form: BoxForm, *, box_id: str, host_key: str, fingerprint: str, suites: list[Suite] | None = None, jump: Pin = NO_PIN
) -> Box:
    """The registration that a form stands for. In locked mode the box's owner holds the paths."""
    is_locked = form.mode == LOCKED
    return Box(
        box_id=box_id,
        name=form.name,
        kind="ssh",
        mode=form.mode,
        host=form.host,
        port=form.port,
        user=form.user,
        key_path=form.key_path,
        host_key=host_key,
        fingerprint=fingerprint,
        jump=form.jump,
        jump_host_key=jump.key_line if form.jump else "",
        jump_fingerprint=jump.fingerprint if form.jump else "",
        python=[form.python],
        engines=[Engine(id=form.engine, argv=[OWNERS_PATH]) if is_locked else Engine(id="llama-server", argv=[form.engine])],
        models=[_model(form.models)] if form.models.endswith(".gguf") else [],
        model_roots=[form.models] if form.models and not form.models.endswith(".gguf") else [],
        suites=suites or [],
    )


def _model(path: str) -> ModelFile:
    return ModelFile(name=path.rsplit("/", 1)[-1].removesuffix(".gguf"), path=path)


def _box_id(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "box"


def _refuse_taken_name(house: House, name: str) -> None:
    if _box_id(name) in {box.box_id for box in house.store.boxes.all()}:
        raise InvalidInput({"name": "is taken by another box."})


def check_box(house: House, box_id: str, *, by_hand: bool = False) -> dict[str, Any]:
    """Asks the box what it has (python, engine, models, GPU) and keeps the answer; a box that cannot be used is an answer too.

    `by_hand`: a person asks, so refused sign-ins of before do not hold it back, and with no run on the box it is tried whether the box
    ends processes at logout (`survives_logout`).
    """
    authorize(house, "box.check", box_id)
    box = house.box(box_id)
    try:
        opened = house.open_box(box)
        if by_hand:
            opened.forgive()
        report = opened.probe()
        if by_hand and not queue_of(house, box_id):
            report["survives_logout"] = opened.survives_logout()
    except BenchError as error:
        house.store.boxes.add_check(box_id, error.as_json(), ok=False, at=house.clock.now())
        raise
    house.store.boxes.add_check(box_id, report, ok=True, at=house.clock.now())
    return report


def model_names(house: House, box: Box) -> list[str]:
    """Models that may be chosen on a box: the registered ones and those the newest check found."""
    authorize(house, "see", box.box_id)
    check = house.store.boxes.latest_check(box.box_id)
    found = [model["name"] for model in check["report"].get("models", [])] if check and check["ok"] else []
    return sorted({model.name for model in box.models} | set(found), key=str.lower)
