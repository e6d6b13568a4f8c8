"""`doctor`: app host, store, ledgers and boxes, with what to do."""

from __future__ import annotations

import argparse

from core.commands.frame import EXIT_DONE, EXIT_NO, Answer, Verbs, here_or_asked


def register(verbs: Verbs) -> None:
    doctor = verbs.add("doctor", _doctor, "Look at app host, store, ledgers and boxes.", database=True)
    doctor.add_argument(
        "--mend", action="store_true", help="first take in decisions signed but not stored, and fetch damaged ledgers again"
    )


def _doctor(args: argparse.Namespace) -> Answer:
    answer = here_or_asked(args, "doctor", {"mend": args.mend}, wait_s=600.0)
    return (EXIT_DONE if answer["ok"] else EXIT_NO), answer
