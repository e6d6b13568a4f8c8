"""`matrix`: the results matrix as rows."""

from __future__ import annotations

import argparse

from core.commands.frame import EXIT_DONE, Answer, Verbs, opened
from core.domain.matrix_filter import SORTS, MatrixFilter
from core.services.matrix import matrix_rows
from core.services.reference import published_elsewhere


def register(verbs: Verbs) -> None:
    matrix = verbs.add("matrix", _matrix, "The results matrix.", database=True)
    matrix.add_argument("--provenance", help="measured, imported or transcribed")
    for name in ("model", "box", "workload"):
        matrix.add_argument(f"--{name}")
    matrix.add_argument("--build", help="“b11549 (abcdef12)”, or its number or commit alone")
    matrix.add_argument("--context", help="context length, tokens")
    matrix.add_argument("--concurrency", help="streams")
    matrix.add_argument("--age-days", help="measured or imported within so many days")
    matrix.add_argument("--sort", default=SORTS[0], help=", ".join(SORTS))
    matrix.add_argument("--published", action="store_true", help="with the results published elsewhere, apart under their own key")


def _matrix(args: argparse.Namespace) -> Answer:
    with opened(args) as services:
        wanted = {name: getattr(args, name) for name in MatrixFilter.model_fields}
        rows = {"rows": matrix_rows(services.house, sort=args.sort, **wanted)}
        return EXIT_DONE, {**rows, "published": published_elsewhere(services.house, model=args.model)} if args.published else rows
