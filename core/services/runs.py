"""Runs: start, stop, look at. Starting writes a row and returns; the follower does what needs the network."""

from __future__ import annotations

import threading
from functools import lru_cache
from statistics import median
from typing import Any

from core.domain.arms import FORCED_ALL, FORCED_NONE, FORCED_REPETITIONS, SUITE
from core.domain.cell_gate import gated
from core.domain.forms import Name, Record, checked
from core.domain.looks import limit_for
from core.domain.matrix import measured_cell
from core.domain.run import FINAL, PREPARING, QUEUED, RUN_ID, STOPPING, SweepRequest, short
from core.domain.sound import is_rate
from core.domain.stats import ABOVE, BELOW, TOO_FEW, compare
from core.domain.sweep import Stage, possible_stages
from core.errors import BoxBusy, InvalidInput, NotFound, OutputNotUnderstood
from core.services.access import authorize
from core.services.box_limits import refuse_beyond
from core.services.boxes import model_names
from core.services.cell_gates import gate_of_stage, gates_of_run
from core.services.house import House, Live
from core.services.queue import queue_of, waits_behind

_ONE_AT_A_TIME = threading.Lock()


class Asker(Record):
    """Who asks for a run; the name travels to the box."""

    by: Name


def start_run(house: House, run_id: str, values: dict[str, Any], *, who: str) -> bool:
    """Asks for a sweep under an id minted when the form was shown. False: this very run was asked for before (a second click).

    Where another run has the box it waits in the queue.
    Raises InvalidInput (fields), NotFound (box, model, workload), BoxBusy (this very sweep is under way).
    """
    authorize(house, "run.start", run_id, signed=who)
    if not RUN_ID.fullmatch(run_id):
        raise InvalidInput({"run_id": "has to be 32 hex digits."})
    if house.store.runs.get(run_id):
        return False
    who = checked(Asker, {"by": who}).by
    request = checked(SweepRequest, values)
    _refuse_unknown(house, request)
    request.plan(is_moe=True, placement="unknown")
    with _ONE_AT_A_TIME:
        line = queue_of(house, request.box_id)
        _refuse_second(line, request)
        started = house.store.runs.insert(_row(house, run_id, request, who, line))
    house.wake.set()
    return started


def _row(house: House, run_id: str, request: SweepRequest, who: str, line: list[dict[str, Any]]) -> dict[str, Any]:
    """A run goes to its box at once, or waits behind those that were asked for before."""
    return {
        "run_id": run_id,
        "box_id": request.box_id,
        "worksheet_id": request.worksheet_id,
        "title": request.title,
        "request": request.model_dump(),
        "requested_by": who,
        "created_at": house.clock.now(),
        "state": QUEUED if line else PREPARING,
        "note": waits_behind(line) if line else "",
    }


def _refuse_second(line: list[dict[str, Any]], request: SweepRequest) -> None:
    """The same sweep for the same worksheet is asked for once, whatever tab it comes from."""
    same = [run for run in line if request.worksheet_id and run["request"] == request.model_dump()]
    if same:
        raise BoxBusy(
            f"Run {short(same[0]['run_id'])} “{same[0]['title']}” is this very sweep and is {same[0]['state']}. Nothing was started.",
            hint="Wait until it ends, or stop it on its page.",
        )


def _refuse_unknown(house: House, request: SweepRequest) -> None:
    box = house.box(request.box_id)
    house.workload(request.workload_id)
    if box.engine(request.engine_id) is None:
        raise NotFound("engine", request.engine_id, [engine.id for engine in box.engines])
    for suite_id in request.suites:
        if box.suite(suite_id) is None:
            raise NotFound("suite", suite_id, [suite.id for suite in box.suites])
    refuse_beyond(house, box, request)
    known = model_names(house, box)
    if request.model not in known:
        raise NotFound("model", request.model, known)


def stop_run(house: House, run_id: str, *, who: str) -> None:
    """Asks a run to stop; the follower carries it to the box, also later when the box is unreachable now. Idempotent."""
    authorize(house, "run.stop", run_id, signed=who)
    run = get_run(house, run_id)
    if run["state"] in FINAL or run["cancel_at"]:
        return
    name = "".join(ch if ch.isprintable() else " " for ch in who).strip(" -")[:80] or "somebody"  # a stop is never refused for a name
    house.store.runs.set_state(run_id, state=STOPPING, cancel_by=name, cancel_at=house.clock.now(), note="Stop was asked for.")
    house.wake.set()


def get_run(house: House, run_id: str) -> dict[str, Any]:
    """The run with its state; raises NotFound."""
    authorize(house, "see", run_id)
    run = house.store.runs.get(run_id) if RUN_ID.fullmatch(run_id) else None
    if run is None:
        raise NotFound("run", run_id, [short(row["run_id"]) for row in house.store.runs.find(limit=10)])
    return run


def show_run(house: House, run_id: str) -> dict[str, Any]:
    """Everything the run page shows, read from the store, no network.

    {run, stages, repetitions, left_s, cells, figures, finished, preflight, verdicts, ready, exits, raw_files, live}
    """
    authorize(house, "see", run_id)
    run = get_run(house, run_id)
    events = house.store.runs.events(run_id)
    bodies: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        bodies.setdefault(event["kind"], []).append(event["body"])
    stages, cells, gates = stages_of(run, events), house.store.cells.of_run(run_id), gates_of_run(house, run_id)
    return {
        "run": run,
        "stages": [{**stage, "gate": gate_of_stage(stage, gates)} for stage in stages],
        "repetitions": _repetitions(events),
        "left_s": left_s(run, stages, events),
        "cells": cells,
        "figures": _figures(cells, gates),
        "verdicts": bodies.get("verdict", []),
        "preflight": next(iter(bodies.get("preflight", [])), None),
        "finished": next(iter(bodies.get("run_finished", [])), None),
        "ready": bodies.get("server_ready", []),
        "exits": bodies.get("server_exit", []),
        "raw_files": house.store.runs.raw_files(run_id),
        "live": house.live.get(run_id, Live()),
    }


def _repetitions(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Counted repetitions in the order they came: {number, stage, repetition, tok_s}."""
    came = [one["body"] for one in events if one["kind"] == "sample" and one["body"]["counted"] and not one["body"].get("synthetic")]
    return [
        {
            "number": number,
            "stage": body["stage"]["name"],
            "repetition": body["repetition"],
            "tok_s": body["tok_s"] if is_rate(body["tok_s"]) else None,
        }
        for number, body in enumerate(came, 1)
    ]


def _figures(cells: list[dict[str, Any]], gates: dict[tuple[int, int], dict[str, Any]]) -> list[dict[str, Any]]:
    """The run's cells as the matrix has them, with n_max and c."""
    baselines = {cell["c"]: cell for cell in cells if cell["n_max"] == 0}
    arms = [((cell["n_max"], cell["c"]), cell) for cell in cells if _has_any(cell)]
    return [{**gated(measured_cell(cell, baselines.get(arm[1])), gates.get(arm)), "n_max": arm[0], "c": arm[1]} for arm, cell in arms]


def _has_any(cell: dict[str, Any]) -> bool:
    """False where only the warm-up came: the stage was stopped, nothing failed."""
    return bool(cell["n"] or cell["n_bad"] or cell["n_excluded"])


def left_s(run: dict[str, Any], stages: list[dict[str, Any]], events: list[dict[str, Any]]) -> float | None:
    """Seconds until the end if every planned stage is measured, by what a repetition took so far, loads included; None at first."""
    started = next((event["noted_at"] for event in events if event["kind"] == "stage_started"), None)
    samples = [event for event in events if event["kind"] == "sample"]
    if run["state"] in FINAL or started is None or len(samples) < 2:
        return None
    each = (samples[-1]["noted_at"] - started).total_seconds() / len(samples)
    here = [event for event in samples if stages and event["body"]["stage"]["name"] == _current(stages)]
    rest = sum(stage["repetitions"] + max(1, stage["visits"]) for stage in stages if stage["state"] in ("now", "planned")) - len(here)
    return each * max(rest, 0)


def _current(stages: list[dict[str, Any]]) -> str | None:
    return next((stage["name"] for stage in stages if stage["state"] == "now"), None)


def stages_of(run: dict[str, Any], events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Stages as they stand, all visits to an arm on one line; `speedup` and `verdict` are against the baseline at the same concurrency.

    {name, n_max, c, kind, repetitions, visits, state: done | failed | now | stopped | planned, tok_s, median_tok_s, speedup, verdict,
    accept_share, proposed, reason}
    """
    known: dict[str, dict[str, Any]] = {}
    for event in events:
        body = event["body"]
        if event["kind"] == "stage_started":
            _open(known, body["stage"])
        elif event["kind"] == "sample" and body["stage"]["name"] in known and body["counted"] and is_rate(body["tok_s"]):
            known[body["stage"]["name"]]["tok_s"].append(body["tok_s"])
        elif event["kind"] == "stage_done" and body["stage"]["name"] in known:
            _close(known[body["stage"]["name"]], body)
    for stage in known.values():
        _compare(stage, list(known.values()), run["request"].get("repetitions") or 3)
        if run["state"] in FINAL and stage["state"] == "now":
            stage["state"] = "stopped"
    return list(known.values()) + ([] if run["state"] in FINAL else _planned(run, known))


def _compare(stage: dict[str, Any], stages: list[dict[str, Any]], planned: int) -> None:
    """Adds the median and, on a speculative arm, how it stands against the baseline so far."""
    stage["median_tok_s"] = median(stage["tok_s"]) if stage["tok_s"] else None
    off = [rate for one in stages if one["n_max"] == 0 and one["c"] == stage["c"] for rate in one["tok_s"]]
    is_compared = stage["n_max"] and stage["kind"] not in (FORCED_ALL, FORCED_NONE)
    ratio, verdict = _against(tuple(stage["tok_s"]), tuple(off), planned) if is_compared else (None, None)
    stage["speedup"], stage["verdict"] = ratio, verdict


@lru_cache(maxsize=512)
def _against(rates: tuple[float, ...], off: tuple[float, ...], planned: int) -> tuple[float | None, str | None]:
    """By the limit that cells are held to. Kept: the page asks every second, and the exact test of 8 against 16 takes a while."""
    found = compare(rates, off, p_limit=limit_for(rates, planned))
    words = {ABOVE: "wins", BELOW: "loses", TOO_FEW: None}
    return found.ratio, words.get(found.verdict, "no-difference")


def _open(known: dict[str, dict[str, Any]], stage: dict[str, Any]) -> None:
    """A visit begins. A later visit to the same arm goes on with its line: more repetitions, nothing lost."""
    fresh = {"tok_s": [], "closed": [], "accepted": 0, "accept_share": None, "proposed": None, "repetitions": 0, "visits": 0, "reason": ""}
    line = known.setdefault(stage["name"], {**stage, **fresh})
    line["repetitions"] += stage["repetitions"]
    line["visits"] += 1
    line["state"] = "now"


def _close(stage: dict[str, Any], body: dict[str, Any]) -> None:
    stage["state"] = "done" if body["status"] == "ok" or stage["closed"] else "failed"
    stage["closed"] = [*stage["closed"], *(rate for rate in body["tok_s"] if is_rate(rate))]
    stage["tok_s"] = list(stage["closed"])
    stage["reason"] = body.get("reason", "")
    stage["accepted"] += body["accepted"] or 0
    stage["proposed"] = (stage["proposed"] or 0) + (body.get("drafted") or 0) or None
    stage["accept_share"] = stage["accepted"] / stage["proposed"] if stage["proposed"] else None


def _planned(run: dict[str, Any], known: dict[str, Any]) -> list[dict[str, Any]]:
    """Stages that may still come; the climb's later steps only if the earlier ones pay."""
    request = SweepRequest(**run["request"])
    plan = request.plan(is_moe=True, placement="unknown")
    climbing = not any(stage["kind"] in ("baseline-again", "production", "load") for stage in known.values())
    rest = []
    for stage in possible_stages(plan):
        name = stage.name if stage.n_max >= 0 else f"winner at c={stage.c}"
        came = stage.name in known or (stage.kind in ("step", "baseline-between") and not climbing)
        if not came and not (stage.kind in ("production", "load") and _is_past(stage, known)):
            only = f"only if n={stage.n_max - 1} pays" if stage.kind == "step" and stage.n_max > plan.first_n else ""
            rest.append(_planned_line(name, stage, only))
    if request.forced:
        points = [Stage(kind, n, 1, FORCED_REPETITIONS) for n in range(1, request.n_max + 1) for kind in (FORCED_ALL, FORCED_NONE)]
        rest += [_planned_line(stage.name, stage, "synthetic") for stage in points if stage.name not in known]
    if request.suites and not any(stage["kind"] == SUITE for stage in known.values()):
        rest.append(_planned_line("suites, on and off", Stage(SUITE, -1, plan.production_c, 2), ", ".join(request.suites)))
    return rest


def _planned_line(name: str, stage: Stage, reason: str) -> dict[str, Any]:
    return {"name": name, "n_max": stage.n_max, "c": stage.c, "kind": stage.kind, "state": "planned", "tok_s": [], "median_tok_s": None,
            "speedup": None, "verdict": None, "accept_share": None, "proposed": None, "reason": reason,
            "repetitions": stage.repetitions, "visits": 0}  # fmt: skip


def _is_past(stage: Stage, known: dict[str, dict[str, Any]]) -> bool:
    """Whether an arm at many streams was measured or left out: off comes last, and a winner of n_max 1 has no production arm of its own."""
    made = {one["n_max"] for one in known.values() if (one["kind"], one["c"]) == (stage.kind, stage.c)}
    return 0 in made or (stage.n_max == -1 and any(n > (0 if stage.kind == "load" else 1) for n in made))


def list_runs(house: House, *, worksheet_id: str | None = None) -> list[dict[str, Any]]:
    """Runs, newest first."""
    authorize(house, "see")
    return house.store.runs.find(worksheet_id=worksheet_id)


def read_raw(house: House, run_id: str, name: str) -> bytes:
    """A kept raw file of a run; raises NotFound with the names there are."""
    authorize(house, "see", run_id)
    files = house.store.runs.raw_files(run_id)
    found = next((row for row in files if row["name"] == name), None)
    if found is None:
        raise NotFound("raw file", name, [row["name"] for row in files])
    gone = next((row for row in house.store.runs.retired(run_id) if (row["what"], row["name"]) == ("raw log", name)), None)
    if gone is not None:
        raise OutputNotUnderstood(
            f"{name} was removed on {gone['noted_at']:%Y-%m-%d}: raw logs are kept for {gone['days']} days here.",
            title="The raw log is no longer kept",
            hint="What was read from it is kept.",
        )
    return house.archive.read(found["stored_as"], found["sha256"])
