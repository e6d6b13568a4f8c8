"""`backup` and `restore`: a copy of the database with its files, also while the app runs; and back."""

from __future__ import annotations

import argparse
from pathlib import Path

from core.bootstrap import upkeep_of
from core.commands.frame import EXIT_DONE, EXIT_NO, Answer, Verbs, here_or_asked, settings_of

WAIT_S = 600.0


def register(verbs: Verbs) -> None:
    backup = verbs.add("backup", _backup, "Back the database up with its files, also while the app runs.", database=True)
    backup.add_argument("--to", type=Path, metavar="DIR", help="folder of the backup; absent: PATH.d/backups")
    restore = verbs.add("restore", _restore, "Put a backup in place; what was there is kept aside.", database=True)
    restore.add_argument("file", type=Path, metavar="FILE", help="the .duckdb or .json file of a backup")


def _backup(args: argparse.Namespace) -> Answer:
    return EXIT_DONE, here_or_asked(args, "backup", {"to": str(args.to.resolve()) if args.to else None}, wait_s=WAIT_S)


def _restore(args: argparse.Namespace) -> Answer:
    answer = upkeep_of(settings_of(args)).restore(args.file)
    return (EXIT_DONE if answer["equal"] else EXIT_NO), answer
