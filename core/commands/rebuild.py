"""`rebuild`: the database made anew from the house record and the ledgers, and compared with the one that is there."""

from __future__ import annotations

import argparse

from core.bootstrap import upkeep_of
from core.commands.frame import EXIT_DONE, EXIT_NO, Answer, Verbs, settings_of


def register(verbs: Verbs) -> None:
    rebuild = verbs.add("rebuild", _rebuild, "Make the database anew from its sources and compare.", database=True)
    rebuild.add_argument("--replace", action="store_true", help="put the new one in place also where the two differ without a reason")
    rebuild.add_argument("--begin-record", action="store_true", help="the other way round: begin a broken house record anew from the rows")


def _rebuild(args: argparse.Namespace) -> Answer:
    """No where something could not be had, or where the two differ and the old one was left in place."""
    upkeep = upkeep_of(settings_of(args))
    if args.begin_record:
        return EXIT_DONE, upkeep.begin_record()
    answer = upkeep.rebuild(replace=args.replace)
    is_good = not answer["faults"] and (answer["equal"] or answer["replaced"])
    return (EXIT_DONE if is_good else EXIT_NO), answer
