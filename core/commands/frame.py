"""What every verb shares: exit codes, the parser's own refusals, the opened services, a file's bytes."""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.bootstrap import Services, build, upkeep_of
from core.config import Settings
from core.errors import BenchError, BoxBusy, InvalidInput, RemoteError, StoreError, StoreInUse
from core.services.housekeeping import do_request
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


def shared(parser: argparse.ArgumentParser, *, database: bool, later: bool = False) -> None:
    """The arguments that every verb takes. `later`: of a verb's part, which leaves what stood before it as it is."""
    unset: dict[str, Any] = {"default": argparse.SUPPRESS} if later else {}
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout", **unset)
    if database:
        parser.add_argument("--db", type=Path, help="database file; a folder PATH.d/ stands beside it", **unset)


def settings_of(args: argparse.Namespace) -> Settings:
    """The settings, with `--db` in the database's place."""
    return Settings(db=args.db) if args.db else Settings()


@contextlib.contextmanager
def opened(args: argparse.Namespace) -> Iterator[Services]:
    """The services over `--db` in the hands of the local admin; closed again whatever happens. Raises StoreError where the file is held."""
    services = build(settings_of(args))
    services = replace(services, house=services.house.acting(local_actor(getattr(args, "by", "") or "command line", via="cli")))
    try:
        yield services
    finally:
        services.database.close()
        services.jobs.close()


def here_or_asked(args: argparse.Namespace, verb: str, values: dict[str, Any], *, wait_s: float) -> dict[str, Any]:
    """Does a verb on the database, or has the process do it that holds the database. Raises StoreInUse when that one does not answer."""
    try:
        with opened(args) as services:
            return do_request(services.house, verb, values)
    except StoreInUse as held:
        return _asked(args, verb, values, held, wait_s)


def _asked(args: argparse.Namespace, verb: str, values: dict[str, Any], held: StoreInUse, wait_s: float) -> dict[str, Any]:
    upkeep, end = upkeep_of(settings_of(args)), time.monotonic() + wait_s
    request = upkeep.leave_request(verb, values)
    try:
        while time.monotonic() < end:
            found = upkeep.answer_of(request)
            if found is not None:
                return _heard(found)
            if upkeep.holder() is None:
                break
            time.sleep(0.1)
    finally:
        upkeep.withdraw(request)
    raise StoreInUse(
        f"{held.message} It was asked to do it and did not answer.", hint="Only the app answers; wait for the other program to end."
    )


def _heard(found: dict[str, Any]) -> dict[str, Any]:
    """The answer of the other process; its error is raised here as one of the same exit code."""
    if "answer" in found:
        return dict(found["answer"])
    said = found["error"]
    kinds: dict[str, type[BenchError]] = {"StoreError": StoreError, "BoxBusy": BoxBusy, "RemoteError": RemoteError}
    if found["kind"] in ("InvalidInput", "NotFound"):
        raise InvalidInput({found["kind"]: said["message"]}, hint=said["hint"])
    is_remote = found["kind"] in {kind.__name__ for kind in RemoteError.__subclasses__()}
    raise (RemoteError if is_remote else kinds.get(found["kind"], BenchError))(said["message"], title=said["title"], hint=said["hint"])
