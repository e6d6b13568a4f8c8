"""`matrix`: the results matrix as rows."""

from __future__ import annotations

import argparse

from core.commands.frame import EXIT_DONE, Answer, Verbs, opened
from core.services.matrix import matrix_rows
from core.services.reference import published_elsewhere


def register(verbs: Verbs) -> None:
    matrix = verbs.add("matrix", _matrix, "The results matrix.", database=True)
    matrix.add_argument("--provenance", help="measured, imported or transcribed")
    matrix.add_argument("--model")
    matrix.add_argument("--published", action="store_true", help="with the results published elsewhere, apart under their own key")


def _matrix(args: argparse.Namespace) -> Answer:
    with opened(args) as services:
        rows = {"rows": matrix_rows(services.house, provenance=args.provenance, model=args.model)}
        return EXIT_DONE, {**rows, "published": published_elsewhere(services.house, model=args.model)} if args.published else rows
