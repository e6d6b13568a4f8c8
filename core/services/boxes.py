"""Boxes: register, confirm the host key, check, and say which models and engines are there."""

from __future__ import annotations

import re
from typing import Any

from core.domain.box import Box, BoxForm, Engine, ModelFile
from core.domain.forms import checked
from core.domain.run import QUEUED
from core.errors import BenchError, InvalidInput
from core.services.house import House
from core.services.queue import queue_of


def list_boxes(house: House) -> list[dict[str, Any]]:
    """Every box with its newest check, the run that holds it, if any, and `queue`: runs that wait for it, in order."""
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


def read_host_key(house: House, values: dict[str, Any]) -> tuple[BoxForm, str, str]:
    """First half of adding a box: checks the form and asks the host for its key: (form, key line, fingerprint).

    Nothing is stored; a person compares the fingerprint before `add_box`.
    """
    form = checked(BoxForm, values)
    _refuse_taken_name(house, form.name)
    key_line, fingerprint = house.fetch_host_key(form.host, form.port)
    return form, key_line, fingerprint


def add_box(house: House, form: BoxForm, *, key_line: str, fingerprint: str, who: str) -> Box:
    """Second half: the person has confirmed the fingerprint, the key is pinned."""
    _refuse_taken_name(house, form.name)
    box = Box(
        box_id=_box_id(form.name),
        name=form.name,
        kind="ssh",
        host=form.host,
        port=form.port,
        user=form.user,
        key_path=form.key_path,
        host_key=key_line,
        fingerprint=fingerprint,
        python=[form.python],
        engines=[Engine(id="llama-server", argv=[form.engine])],
        models=[_model(form.models)] if form.models.endswith(".gguf") else [],
        model_roots=[] if form.models.endswith(".gguf") else [form.models],
    )
    house.store.boxes.put(box, who=who, at=house.clock.now())
    return box


def _model(path: str) -> ModelFile:
    return ModelFile(name=path.rsplit("/", 1)[-1].removesuffix(".gguf"), path=path)


def _box_id(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "box"


def _refuse_taken_name(house: House, name: str) -> None:
    if _box_id(name) in {box.box_id for box in house.store.boxes.all()}:
        raise InvalidInput({"name": "is taken by another box."})


def check_box(house: House, box_id: str) -> dict[str, Any]:
    """Asks the box what it has (python, engine, models, GPU) and keeps the answer; a box that cannot be used is an answer too."""
    box = house.box(box_id)
    try:
        report = house.open_box(box).probe()
    except BenchError as error:
        house.store.boxes.add_check(box_id, error.as_json(), ok=False, at=house.clock.now())
        raise
    house.store.boxes.add_check(box_id, report, ok=True, at=house.clock.now())
    return report


def model_names(house: House, box: Box) -> list[str]:
    """Models that may be chosen on a box: the registered ones and those the newest check found."""
    check = house.store.boxes.latest_check(box.box_id)
    found = [model["name"] for model in check["report"].get("models", [])] if check and check["ok"] else []
    return sorted({model.name for model in box.models} | set(found), key=str.lower)
