"""`export`: everything into a folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from core.commands.frame import EXIT_DONE, EXIT_NO, Answer, Verbs, opened
from core.services.exports import export_all


def register(verbs: Verbs) -> None:
    take = verbs.add("export", _export, "Everything as CSV, Parquet and JSON, with memos and the runbook, into a folder.", database=True)
    take.add_argument("folder", type=Path, metavar="FOLDER", help="new or empty")


def _export(args: argparse.Namespace) -> Answer:
    with opened(args) as services:
        found = export_all(services.house, args.folder)
    return (EXIT_DONE if found["ledger"]["ok"] else EXIT_NO), found
