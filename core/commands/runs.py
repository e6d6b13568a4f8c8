"""`runs`: what ran and what came of it, newest first; `runs resume ID` and `runs repeat ID` run one again."""

from __future__ import annotations

import argparse
from typing import Any

from core.commands.frame import EXIT_DONE, Answer, Verbs, opened
from core.commands.sweep import catch_up, to_the_end
from core.domain.run import new_run_id
from core.errors import InvalidInput
from core.services.again import repeat_run, resume_run
from core.services.house import House
from core.services.outlines import run_outline
from core.services.run_report import stage_json
from core.services.runs import list_runs

_AGAIN = {"resume": resume_run, "repeat": repeat_run}


def register(verbs: Verbs) -> None:
    runs = verbs.add("runs", _runs, "Runs, newest first; resume or repeat one and follow it to its end.", database=True)
    runs.add_argument("act", nargs="?", choices=("list", *_AGAIN), default="list", help="default list")
    runs.add_argument("run_id", nargs="?", help="the run to resume or repeat")
    runs.add_argument("--by", default="command line", help="who asks")


def _runs(args: argparse.Namespace) -> Answer:
    if args.act != "list" and not args.run_id:
        raise InvalidInput({"run_id": f"is needed: runs {args.act} ID."})
    with opened(args) as services:
        if args.act == "list":
            shown = ("run_id", "state", "title", "box_id", "requested_by", "created_at", "ended_at", "note")
            return EXIT_DONE, {
                "runs": [{**{name: row[name] for name in shown}, **_result(services.house, row)} for row in list_runs(services.house)]
            }
        catch_up(services)
        new_id = new_run_id()
        _AGAIN[args.act](services.house, new_id, args.run_id, who=args.by)
        return to_the_end(services, new_id, quiet=args.json)


def _result(house: House, row: dict[str, Any]) -> dict[str, Any]:
    """What came of a run: {stop_reason, winner, drifted, supports_keep, stages} with the cell gate and residuals of each stage's cell."""
    found = run_outline(house, row)
    return {**found, "stages": [stage_json(stage) for stage in found["stages"]]}
