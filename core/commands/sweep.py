"""`sweep`: one sweep from its start to its end, followed in this process."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from pathlib import Path
from typing import Any

from core.bootstrap import Services
from core.commands.frame import EXIT_DONE, EXIT_NO, Answer, Verbs, opened
from core.domain.box import Box
from core.domain.run import ACTIVE, DONE, FAILED, FINAL, QUEUED, new_run_id
from core.errors import BenchError, BoxBusy, InvalidInput, RemoteError
from core.formats.recipe_file import LIMIT
from core.services import runs
from core.services.boxes import list_boxes
from core.services.follow import follow_once
from core.services.queue import ahead_of
from core.services.recipes import sweep_of_recipe
from core.services.run_report import run_report

POLL_S = 0.5
_TRIES = 20  # to hear from the box that a run taken back has nothing there


def register(verbs: Verbs) -> None:
    sweep = verbs.add("sweep", _sweep, "Run a sweep to its end.", database=True)
    sweep.add_argument("--box", required=True)
    sweep.add_argument("--model", help="needed without --recipe")
    sweep.add_argument("--recipe", type=Path, help="a recipe file to start from; the other arguments go before it")
    sweep.add_argument("--engine")
    sweep.add_argument("--n-max", help="default 3")
    sweep.add_argument("--repetitions", help="default 3")
    sweep.add_argument("--concurrency", help="production concurrency, streams; default 1")
    sweep.add_argument("--also-concurrency", help="further concurrencies for winner and baseline, such as 2,8,16")
    sweep.add_argument("--order", help="abba (default), interleaved or block")
    sweep.add_argument("--budget-min", help="time budget, minutes")
    sweep.add_argument("--workload", help="default chat-short")
    sweep.add_argument("--forced", action="store_true", default=None, help="with the forced-acceptance pass")
    sweep.add_argument("--suite", action="append", metavar="NAME", help="a tool suite of the box, on and off, after the sweep; repeatable")
    sweep.add_argument("--suite-runs", help="runs of each suite a side; default 2")
    sweep.add_argument("--wait", action="store_true", help="wait in the queue where the box is busy; else exit 3")
    sweep.add_argument("--by", default="command line", help="who asks")


def _sweep(args: argparse.Namespace) -> Answer:
    with opened(args) as services:
        house, run_id = services.house, new_run_id()
        catch_up(services)
        named = [entry["box"] for entry in list_boxes(house) if args.box in (entry["box"].box_id, entry["box"].name)]
        box = named[0] if named else house.box(args.box)
        values = _asked(args, box)
        runs.start_run(house, run_id, values, who=args.by)
        return to_the_end(services, run_id, quiet=args.json, waits=args.wait)


def to_the_end(services: Services, run_id: str, *, quiet: bool, waits: bool = True) -> Answer:
    """Follows a run that was asked for until it is over; what came of it. Raises RunFailed where nothing was measured."""
    house = services.house
    _follow_to_the_end(services, run_id, quiet=quiet, waits=waits)
    run = runs.get_run(house, run_id)
    answer = run_report(house, run_id)
    if run["problem"] and run["state"] == FAILED and not answer["stages"]:
        stored = run["problem"]
        raise RunFailed(stored["message"], title=stored["title"], hint=stored["hint"])
    return (EXIT_DONE if run["state"] == DONE else EXIT_NO), answer


def _asked(args: argparse.Namespace, box: Box) -> dict[str, Any]:
    """The sweep that was asked for: the recipe file's, where one is given, and over it what the command line says."""
    given = {
        "engine_id": args.engine,
        "model": args.model,
        "workload_id": args.workload,
        "n_max": args.n_max,
        "repetitions": args.repetitions,
        "production_c": args.concurrency,
        "also_c": args.also_concurrency.split(",") if args.also_concurrency else None,
        "order": args.order,
        "budget_min": args.budget_min,
        "forced": args.forced,
        "suites": args.suite,
        "suite_runs": args.suite_runs,
    }
    said = {key: value for key, value in given.items() if value is not None}
    if args.recipe:
        return {**sweep_of_recipe(_content(args.recipe)), **said, "box_id": box.box_id}
    if not args.model:
        raise InvalidInput({"model": "is needed, or a recipe file (--recipe)."})
    plain = {"title": f"Sweep of {args.model}"[:200], "engine_id": box.engines[0].id, "workload_id": "chat-short"}
    return {**plain, **said, "box_id": box.box_id}


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as handle:
            return handle.read(LIMIT + 1)
    except OSError as error:
        raise InvalidInput({"recipe file": f"{path.name} cannot be read: {error.strerror}."}) from error


def catch_up(services: Services) -> None:
    """Takes in what runs of an earlier process left to tell, so that a box is not called busy for a run that has ended."""
    for run in services.house.store.runs.find(states=ACTIVE):
        with contextlib.suppress(RemoteError):
            follow_once(services.house, run["run_id"])


class RunFailed(BenchError):
    """The run ended before anything was measured."""

    default_title = "The run failed"


def _follow_to_the_end(services: Services, run_id: str, *, quiet: bool, waits: bool) -> None:
    """Follows in this process until the run is in a final state, with those before it in the queue; a box out of reach is waited for.

    Raises BoxBusy where somebody else has the box, unless it `waits`: the run is taken back then, nothing of it was started.
    """
    said, wait = "", POLL_S
    while True:
        try:
            for ahead in ahead_of(services.house, runs.get_run(services.house, run_id)):
                follow_once(services.house, ahead["run_id"])
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
        if run["state"] == QUEUED and not waits:
            raise _taken_back(services, run)
        time.sleep(wait)


def _taken_back(services: Services, run: dict[str, Any]) -> BoxBusy:
    runs.stop_run(services.house, run["run_id"], who="command line: the box is busy")
    for _ in range(_TRIES):
        follow_once(services.house, run["run_id"])
        if runs.get_run(services.house, run["run_id"])["state"] in FINAL:
            break
        time.sleep(POLL_S)
    return BoxBusy(
        f"{run['note'].removeprefix('Waiting: ')[:1].upper()}{run['note'].removeprefix('Waiting: ')[1:]} Nothing was started.",
        hint="Try again later, or use --wait to stand in the queue.",
    )


def _say(text: str, said: str, quiet: bool) -> str:
    if text != said and not quiet:
        print(text, file=sys.stderr)
    return text
