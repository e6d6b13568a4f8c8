"""`read`: one file as an engine or a bench tool printed it, no database."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.commands.frame import EXIT_DONE, Answer, Verbs
from core.errors import InvalidInput


def register(verbs: Verbs) -> None:
    read = verbs.add("read", _read, "Read what an engine or a bench tool printed.", database=False)
    read.add_argument("file", type=Path)
    read.add_argument("--companion", type=Path, help="a second file of the same run (standard error)")
    read.add_argument("--kind", help="kind of the input; detected when absent")


def _read(args: argparse.Namespace) -> Answer:
    from core.formats.reader import read

    try:
        with args.file.open("rb") as handle:
            companion = args.companion.read_bytes() if args.companion else None
            return EXIT_DONE, read(_chunks(handle), companion=companion, kind=args.kind).as_json()
    except OSError as error:
        raise InvalidInput({"file": f"cannot be read: {error.strerror}."}) from error


def _chunks(handle: Any) -> Iterator[bytes]:
    while part := handle.read(1 << 16):
        yield part
