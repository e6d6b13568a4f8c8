"""`reap`: ends what a dead agent left on a box, from outside."""

from __future__ import annotations

import argparse

from core.commands.frame import EXIT_DONE, EXIT_NO, Answer, Verbs, here_or_asked


def register(verbs: Verbs) -> None:
    reap = verbs.add("reap", _reap, "End what a dead agent left on a box.", database=True)
    reap.add_argument("--box", required=True)
    reap.add_argument("--run", help="only this run's leftovers, and close its ledger on the box")
    reap.add_argument("--by", default="command line", help="who asks")


def _reap(args: argparse.Namespace) -> Answer:
    """No where something is still alive."""
    answer = here_or_asked(args, "reap", {"box": args.box, "run": args.run, "by": args.by}, wait_s=180.0)
    return (EXIT_NO if answer["left"] else EXIT_DONE), answer
