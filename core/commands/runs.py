"""`runs`: what ran and what came of it, newest first."""

from __future__ import annotations

import argparse
from typing import Any

from core.commands.frame import EXIT_DONE, Answer, Verbs, opened
from core.commands.sweep import stage_json
from core.services.house import House
from core.services.outlines import run_outline
from core.services.runs import list_runs


def register(verbs: Verbs) -> None:
    verbs.add("runs", _runs, "Runs, newest first.", database=True)


def _runs(args: argparse.Namespace) -> Answer:
    with opened(args) as services:
        shown = ("run_id", "state", "title", "box_id", "requested_by", "created_at", "ended_at", "note")
        return EXIT_DONE, {
            "runs": [{**{name: row[name] for name in shown}, **_result(services.house, row)} for row in list_runs(services.house)]
        }


def _result(house: House, row: dict[str, Any]) -> dict[str, Any]:
    """What came of a run: {stop_reason, winner, drifted, supports_keep, stages} with the cell gate and residuals of each stage's cell."""
    found = run_outline(house, row)
    return {**found, "stages": [stage_json(stage) for stage in found["stages"]]}
