"""`import`: what other tools printed, into the database."""

from __future__ import annotations

import argparse
from pathlib import Path

from core.commands.frame import EXIT_DONE, Answer, Verbs, opened
from core.errors import InvalidInput
from core.services.imports import LIMIT, import_files, too_large


def register(verbs: Verbs) -> None:
    take_in = verbs.add("import", _import, "Take in what other tools printed.", database=True)
    take_in.add_argument("files", type=Path, nargs="+", metavar="FILE")
    take_in.add_argument("--as", dest="kind", metavar="KIND", help="kind of the files; detected when absent")
    take_in.add_argument("--by", default="command line", help="who takes them in")


def _import(args: argparse.Namespace) -> Answer:
    files = [(path.name, _content(path)) for path in args.files]
    with opened(args) as services:
        return EXIT_DONE, import_files(services.house, files, who=args.by, kind=args.kind)


def _content(path: Path) -> bytes:
    """A file's bytes; one above the limit is not read whole. Raises InvalidInput."""
    try:
        if path.stat().st_size > LIMIT:
            raise InvalidInput({path.name: too_large(path.stat().st_size)}, hint="Nothing was imported.")
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput({path.name: f"cannot be read: {error.strerror}."}, hint="Nothing was imported.") from error
