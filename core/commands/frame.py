"""What every verb shares: exit codes, the parser's own refusals, the opened services, a file's bytes."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.bootstrap import Services, build
from core.config import Settings
from core.errors import InvalidInput
from core.services.identity import local_actor

EXIT_DONE, EXIT_NO, EXIT_BAD_INPUT, EXIT_BUSY = 0, 1, 2, 3

Answer = tuple[int, dict[str, Any]]
Work = Callable[[argparse.Namespace], Answer]


class Refusing(argparse.ArgumentParser):
    """Reports bad arguments in the house's form."""

    def error(self, message: str) -> Any:
        raise InvalidInput({"arguments": message}, hint=f"See: python -m core {self.prog.split()[-1]} --help")


class Verbs:
    """Where a verb registers itself."""

    def __init__(self, subparsers: Any) -> None:
        self._subparsers = subparsers

    def add(self, name: str, work: Work, text: str, *, database: bool) -> argparse.ArgumentParser:
        """A new verb with `--json` and, where it needs one, `--db`; `work` answers (exit code, JSON object)."""
        one: argparse.ArgumentParser = self._subparsers.add_parser(name, help=text, description=text)
        shared(one, database=database)
        one.set_defaults(work=work)
        return one


def shared(parser: argparse.ArgumentParser, *, database: bool) -> None:
    """The arguments that every verb takes."""
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    if database:
        parser.add_argument("--db", type=Path, help="database file; a folder PATH.d/ stands beside it")


@contextlib.contextmanager
def opened(args: argparse.Namespace) -> Iterator[Services]:
    """The services over `--db` in the hands of the local admin; closed again whatever happens. Raises StoreError where the file is held."""
    services = build(Settings(db=args.db) if args.db else Settings())
    services = replace(services, house=services.house.acting(local_actor(getattr(args, "by", "") or "command line", via="cli")))
    try:
        yield services
    finally:
        services.database.close()
        services.jobs.close()
