"""`sweep`: one sweep from its start to its end, followed in this process."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from typing import Any

from core.bootstrap import Services
from core.commands.frame import EXIT_DONE, EXIT_NO, Answer, Verbs, opened
from core.domain.run import ACTIVE, DONE, FAILED, FINAL, new_run_id
from core.errors import BenchError, RemoteError
from core.services import runs
from core.services.boxes import list_boxes
from core.services.follow import follow_once
from core.services.matrix import matrix_rows

POLL_S = 0.5


def register(verbs: Verbs) -> None:
    sweep = verbs.add("sweep", _sweep, "Run a sweep to its end.", database=True)
    sweep.add_argument("--box", required=True)
    sweep.add_argument("--model", required=True)
    sweep.add_argument("--engine")
    sweep.add_argument("--n-max", default=3)
    sweep.add_argument("--repetitions", default=3)
    sweep.add_argument("--concurrency", default=1, help="production concurrency, streams")
    sweep.add_argument("--also-concurrency", help="further concurrencies for winner and baseline, such as 2,8,16")
    sweep.add_argument("--order", default="abba", help="abba, interleaved or block")
    sweep.add_argument("--budget-min", help="time budget, minutes")
    sweep.add_argument("--workload", default="chat-short")
    sweep.add_argument("--by", default="command line", help="who asks")


def _sweep(args: argparse.Namespace) -> Answer:
    with opened(args) as services:
        house, run_id = services.house, new_run_id()
        _catch_up(services)
        named = [entry["box"] for entry in list_boxes(house) if args.box in (entry["box"].box_id, entry["box"].name)]
        box = named[0] if named else house.box(args.box)
        values = {
            "title": f"Sweep of {args.model}"[:200],
            "box_id": box.box_id,
            "engine_id": args.engine or box.engines[0].id,
            "model": args.model,
            "workload_id": args.workload,
            "n_max": args.n_max,
            "repetitions": args.repetitions,
            "production_c": args.concurrency,
            "also_c": args.also_concurrency.split(",") if args.also_concurrency else [],
            "order": args.order,
            "budget_min": args.budget_min,
        }
        runs.start_run(house, run_id, values, who=args.by)
        _follow_to_the_end(services, run_id, quiet=args.json)
        view = runs.show_run(house, run_id)
        run, finished = view["run"], view["finished"] or {}
        if run["problem"] and run["state"] == FAILED and not view["stages"]:
            stored = run["problem"]
            raise RunFailed(stored["message"], title=stored["title"], hint=stored["hint"])
        rows = [row for row in matrix_rows(house, provenance="measured") if row["run_id"] == run_id]
        answer = {
            "run_id": run_id,
            "state": run["state"],
            "stages": [stage_json(stage) for stage in view["stages"]],
            "stop_reason": finished.get("stop") or finished.get("reason"),
            "winner": finished.get("winner"),
            "drifted": finished.get("drifted"),
            "production": finished.get("production"),
            "supports_keep": finished.get("supports_keep"),
            "noise": next((verdict["noise"] for verdict in view["verdicts"] if verdict.get("noise")), None),
            "cells": [{"n_max": column, "c": row["c"], **cell} for row in rows for column, cell in row["cells"].items() if cell["run_id"]],
        }
        return (EXIT_DONE if run["state"] == DONE else EXIT_NO), answer


def _catch_up(services: Services) -> None:
    """Takes in what runs of an earlier process left to tell, so that a box is not called busy for a run that has ended."""
    for run in services.house.store.runs.find(states=ACTIVE):
        with contextlib.suppress(RemoteError):
            follow_once(services.house, run["run_id"])


class RunFailed(BenchError):
    """The run ended before anything was measured."""

    default_title = "The run failed"


def stage_json(stage: dict[str, Any]) -> dict[str, Any]:
    status = {"done": "ok", "failed": "failed"}.get(stage["state"], "not_run")
    return {"name": stage["name"], "n_max": stage["n_max"], "c": stage["c"], "tok_s": stage["tok_s"], "accept_share": stage["accept_share"],
            "accept_denominator": f"of {stage['proposed']} proposed" if stage["proposed"] else None, "status": status,
            "reason": stage["reason"], "gate": stage.get("gate")}  # fmt: skip


def _follow_to_the_end(services: Services, run_id: str, *, quiet: bool) -> None:
    """Follows in this process until the run is in a final state; a box out of reach is waited for."""
    said, wait = "", POLL_S
    while True:
        try:
            follow_once(services.house, run_id)
            wait = POLL_S
        except RemoteError as problem:
            wait = min(60.0, wait * 2)
            said = _say(f"{problem.title}: {problem.message} Waiting.", said, quiet)
        run = runs.get_run(services.house, run_id)
        live = services.house.live.get(run_id)
        beat = live.heartbeat if live else {}
        said = _say(f"{run['state']}: {beat.get('phase') or run['note']} {beat.get('stage') or ''}".strip(), said, quiet)
        if run["state"] in FINAL:
            return
        time.sleep(wait)


def _say(text: str, said: str, quiet: bool) -> str:
    if text != said and not quiet:
        print(text, file=sys.stderr)
    return text
