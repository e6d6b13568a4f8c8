"""Runs: start, stop, look at. Starting writes a row and returns; the follower does what needs the network."""

from __future__ import annotations

from typing import Any

from core.domain.forms import checked
from core.domain.run import ACTIVE, FINAL, PREPARING, RUN_ID, STOPPING, SweepRequest, short
from core.domain.sweep import possible_stages
from core.errors import BoxBusy, InvalidInput, NotFound
from core.services.boxes import model_names
from core.services.house import House, Live


def start_run(house: House, run_id: str, values: dict[str, Any], *, who: str) -> bool:
    """Asks for a sweep under an id minted when the form was shown. False: this very run was asked for before (a second click).

    Raises InvalidInput (fields), NotFound (box, model, workload), BoxBusy (another run is on that box).
    """
    if not RUN_ID.fullmatch(run_id):
        raise InvalidInput({"run_id": "has to be 32 hex digits."})
    if house.store.runs.get(run_id):
        return False
    request = checked(SweepRequest, values)
    _refuse_unknown(house, request)
    request.plan(is_moe=True, placement="unknown")
    busy = [run for run in house.store.runs.find(states=ACTIVE) if run["box_id"] == request.box_id]
    if busy:
        raise BoxBusy(
            f"Run {short(busy[0]['run_id'])} “{busy[0]['title']}” is on {request.box_id}. Nothing was started.",
            hint="Wait until it ends, or stop it on its page.",
        )
    row = {
        "run_id": run_id,
        "box_id": request.box_id,
        "worksheet_id": request.worksheet_id,
        "title": request.title,
        "request": request.model_dump(),
        "requested_by": who,
        "created_at": house.clock.now(),
        "state": PREPARING,
    }
    started = house.store.runs.insert(row)
    house.wake.set()
    return started


def _refuse_unknown(house: House, request: SweepRequest) -> None:
    box = house.box(request.box_id)
    house.workload(request.workload_id)
    if box.engine(request.engine_id) is None:
        raise NotFound("engine", request.engine_id, [engine.id for engine in box.engines])
    known = model_names(house, box)
    if request.model not in known:
        raise NotFound("model", request.model, known)


def stop_run(house: House, run_id: str, *, who: str) -> None:
    """Asks a run to stop; the follower carries it to the box, also later when the box is unreachable now. Idempotent."""
    run = get_run(house, run_id)
    if run["state"] in FINAL or run["cancel_at"]:
        return
    house.store.runs.set_state(run_id, state=STOPPING, cancel_by=who, cancel_at=house.clock.now(), note="Stop was asked for.")
    house.wake.set()


def get_run(house: House, run_id: str) -> dict[str, Any]:
    """The run with its state; raises NotFound."""
    run = house.store.runs.get(run_id) if RUN_ID.fullmatch(run_id) else None
    if run is None:
        raise NotFound("run", run_id, [short(row["run_id"]) for row in house.store.runs.find(limit=10)])
    return run


def show_run(house: House, run_id: str) -> dict[str, Any]:
    """Everything the run page shows: {run, stages, cells, verdicts, preflight, finished, live}. One read of the store, no network."""
    run = get_run(house, run_id)
    events = house.store.runs.events(run_id)
    return {
        "run": run,
        "stages": stages_of(run, events),
        "cells": house.store.cells.of_run(run_id),
        "verdicts": [event["body"] for event in events if event["kind"] == "verdict"],
        "preflight": next((event["body"] for event in events if event["kind"] == "preflight"), None),
        "finished": next((event["body"] for event in events if event["kind"] == "run_finished"), None),
        "ready": [event["body"] for event in events if event["kind"] == "server_ready"],
        "live": house.live.get(run_id, Live()),
    }


def stages_of(run: dict[str, Any], events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Stages as they stand: {name, n_max, c, kind, state: done | failed | now | planned, tok_s, accept_share, proposed}."""
    known: dict[str, dict[str, Any]] = {}
    for event in events:
        body = event["body"]
        if event["kind"] == "stage_started":
            stage = body["stage"]
            known[stage["name"]] = {**stage, "state": "now", "tok_s": [], "accept_share": None, "proposed": None, "reason": ""}
        elif event["kind"] == "sample" and body["stage"]["name"] in known and body["counted"] and body["tok_s"] is not None:
            known[body["stage"]["name"]]["tok_s"].append(body["tok_s"])
        elif event["kind"] == "stage_done":
            _close(known[body["stage"]["name"]], body)
    if run["state"] in FINAL:
        for stage in known.values():
            stage["state"] = "stopped" if stage["state"] == "now" else stage["state"]
        return list(known.values())
    return list(known.values()) + _planned(run, known)


def _close(stage: dict[str, Any], body: dict[str, Any]) -> None:
    drafted = body.get("drafted") or 0
    stage["state"] = "done" if body["status"] == "ok" else "failed"
    stage["tok_s"] = body["tok_s"]
    stage["reason"] = body.get("reason", "")
    stage["proposed"] = drafted or None
    stage["accept_share"] = body["accepted"] / drafted if drafted else None


def _planned(run: dict[str, Any], known: dict[str, Any]) -> list[dict[str, Any]]:
    """Stages that may still come; the climb's later steps only if the earlier ones pay."""
    request = SweepRequest(**run["request"])
    plan = request.plan(is_moe=True, placement="unknown")
    climbing = not any(stage["kind"] in ("baseline-again", "production") for stage in known.values())
    rest = []
    for stage in possible_stages(plan):
        name = stage.name if stage.n_max >= 0 else f"winner at c={stage.c}"
        came = stage.name in known or (stage.kind == "step" and not climbing)
        if stage.kind == "production":
            came = any(one["kind"] == "production" and (one["n_max"] == 0) == (stage.n_max == 0) for one in known.values())
        if not came:
            rest.append({"name": name, "n_max": stage.n_max, "c": stage.c, "kind": stage.kind, "state": "planned", "tok_s": [],
                         "accept_share": None, "proposed": None, "reason": "", "repetitions": stage.repetitions})  # fmt: skip
    return rest


def list_runs(house: House, *, worksheet_id: str | None = None) -> list[dict[str, Any]]:
    """Runs, newest first."""
    return house.store.runs.find(worksheet_id=worksheet_id)


def read_raw(house: House, run_id: str, name: str) -> bytes:
    """A kept raw file of a run; raises NotFound with the names there are."""
    files = house.store.runs.raw_files(run_id)
    found = next((row for row in files if row["name"] == name), None)
    if found is None:
        raise NotFound("raw file", name, [row["name"] for row in files])
    return house.archive.read(found["stored_as"], found["sha256"])
