"""`runs`: what ran and what came of it, newest first."""

from __future__ import annotations

import argparse

from core.commands.frame import EXIT_DONE, Answer, Verbs, opened
from core.services.runs import list_runs


def register(verbs: Verbs) -> None:
    verbs.add("runs", _runs, "Runs, newest first.", database=True)


def _runs(args: argparse.Namespace) -> Answer:
    with opened(args) as services:
        shown = ("run_id", "state", "title", "box_id", "requested_by", "created_at", "ended_at", "note")
        return EXIT_DONE, {"runs": [{name: row[name] for name in shown} for row in list_runs(services.house)]}
