"""Who has the database: a locked file beside it. The lock ends with its process, whatever ended that; the words in it stay."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core.errors import StoreInUse


class Holder:
    """`holder.json` of the folder beside the database, locked as long as this object is held."""

    def __init__(self, descriptor: int, *, last: dict[str, Any] | None) -> None:
        self._descriptor = descriptor
        self.last = last

    @classmethod
    def take(cls, folder: Path, name: str) -> Holder:
        """Raises StoreInUse naming the process that has it, its machine, and since when."""
        descriptor = os.open(folder / "holder.json", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            who = _read(descriptor)
            os.close(descriptor)
            raise in_use(name, who) from error
        holder = cls(descriptor, last=_read(descriptor))
        holder._say(stopped=None)
        return holder

    @property
    def was_clean(self) -> bool:
        """Whether the one before closed the database; True when there was none."""
        return self.last is None or self.last.get("stopped") is not None

    def release(self) -> None:
        """Says that the database was closed, and lets go."""
        with contextlib.suppress(OSError):  # a full disk must not keep the lock
            self._say(stopped=datetime.now(UTC).isoformat(timespec="seconds"))
        os.close(self._descriptor)

    def _say(self, *, stopped: str | None) -> None:
        words = {"pid": os.getpid(), "host": socket.gethostname(), "program": " ".join(sys.argv)[:200], "stopped": stopped}
        words["since"] = datetime.now(UTC).isoformat(timespec="seconds") if stopped is None else None
        data = json.dumps(words).encode("utf-8")
        with contextlib.suppress(OSError):  # written over in place: a full disk has no block for a file that was emptied before
            os.pwrite(self._descriptor, data, 0)
            os.ftruncate(self._descriptor, len(data))


def who_holds(folder: Path) -> dict[str, Any] | None:
    """{pid, host, program, since} of the process that has the database, None when nobody has it."""
    try:
        descriptor = os.open(folder / "holder.json", os.O_RDWR)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(descriptor) or {}
    finally:
        os.close(descriptor)
    return None


def in_use(name: str, who: dict[str, Any] | None) -> StoreInUse:
    """The refusal in words."""
    who = who or {}
    named = "another process"
    if who.get("since"):
        since = f"{datetime.fromisoformat(who['since']):%Y-%m-%d %H:%M:%S} UTC"
        named = f"process {who['pid']} on {who['host']} since {since} ({who['program']})"
    return StoreInUse(
        f"{name} is held by {named}. Nothing was changed.",
        hint="Close the other program (the app itself counts), or choose another file with --db or DRAFTLEDGER_DB.",
    )


def _read(descriptor: int) -> dict[str, Any] | None:
    try:
        found = json.loads(os.pread(descriptor, 4096, 0))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
