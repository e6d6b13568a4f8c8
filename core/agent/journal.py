"""The run's ledger on the box: numbered lines, each linked to the one before by its hash, one write and one fsync a line."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import time
from typing import Any

from core.agent import proc
from core.agent.files import open_private

_TAIL = 8 << 20  # the last whole line is looked for in this many bytes; a sample event is a few kB a stream
_RESERVES = (("reserve", 1 << 16), ("reserve-end", 1 << 16))  # for the event that met the full disk, and for the end of the run
FULL = (errno.ENOSPC, errno.EDQUOT)


class DiskFull(Exception):
    """The event was written with the last reserve; nothing more than the end of the run should follow."""


def clean(value: Any) -> Any:
    """The value as every JSON reader takes it: no NaN or infinity (kept as text), no half surrogates."""
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {clean(str(key)): clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(item) for item in value]
    return value


def canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode("utf-8")


def sha_of(event: dict[str, Any]) -> str:
    """SHA-256 over the event without its own `sha`."""
    return hashlib.sha256(canonical({key: item for key, item in event.items() if key != "sha"})).hexdigest()


def whole_event(line: bytes) -> dict[str, Any] | None:
    """The event in a line, None for anything else, for example a line that was torn."""
    try:
        event = json.loads(line.decode("utf-8"))
        return event if isinstance(event, dict) and event.get("sha") == sha_of(event) else None
    except (ValueError, RecursionError):
        return None


def last_event(path: str) -> dict[str, Any] | None:
    """The last whole event in the file."""
    for line in reversed(_tail(path).split(b"\n")):
        event = whole_event(line)
        if event is not None:
            return event
    return None


def _tail(path: str) -> bytes:
    try:
        fd = open_private(path, os.O_RDONLY)
    except OSError:
        return b""
    with os.fdopen(fd, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        stream.seek(max(0, size - _TAIL))
        return stream.read(_TAIL)


def is_finished(folder: str) -> bool:
    event = last_event(os.path.join(folder, "events.jsonl"))
    return event is not None and event["kind"] == "run_finished"


class Journal:
    """Appends events. Opening one whose last line was torn closes that line with a newline and notes it; nothing is removed."""

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, "events.jsonl")
        self._folder = folder
        last = last_event(self.path)
        self.seq = int(last["seq"]) if last else 0
        self._prev = str(last["sha"]) if last else ""
        self._fd = open_private(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        self._boot = proc.boot_id()
        self.samples = 0
        self._heal()

    def hold_reserve(self) -> None:
        """Sets a little disk aside, twice, so that a full disk and then the end of the run can still be reported."""
        for name, size in _RESERVES:
            fd = open_private(os.path.join(self._folder, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            try:
                os.write(fd, b"\0" * size)
                os.fsync(fd)
            finally:
                os.close(fd)

    def append(self, kind: str, **body: Any) -> dict[str, Any]:
        """Writes one event and returns it. Raises DiskFull after writing it with the reserve, OSError when even that fails."""
        event = self._event(kind, body)
        try:
            self._write(event)
        except OSError as error:
            if error.errno not in FULL:
                raise
            self._drop_reserve()
            self._heal()
            self._write(self._event(kind, body))
            raise DiskFull() from error
        return event

    def close(self) -> None:
        while self._drop_reserve():
            pass
        os.close(self._fd)

    def _event(self, kind: str, body: dict[str, Any]) -> dict[str, Any]:
        event = clean(body)
        event.update(seq=self.seq + 1, kind=kind, wall=time.time(), mono_ns=time.monotonic_ns(), boot_id=self._boot, prev=self._prev)
        if kind == "run_finished":
            event["events"] = self.seq + 1  # counted here: a torn line may have been noted since the end was asked for
        event["sha"] = sha_of(event)
        return dict(event)

    def _write(self, event: dict[str, Any]) -> None:
        data = canonical(event) + b"\n"
        written = os.write(self._fd, data)
        if written != len(data):
            raise OSError(errno.ENOSPC, "the line was cut by a full disk")
        os.fsync(self._fd)
        self.seq, self._prev = event["seq"], event["sha"]
        self.samples += event["kind"] == "sample"

    def _heal(self) -> None:
        size = os.fstat(self._fd).st_size
        if size == 0 or os.pread(self._fd, 1, size - 1) == b"\n":
            return
        torn = len(_tail(self.path).rpartition(b"\n")[2])
        os.write(self._fd, b"\n")
        self._write(self._event("note_torn", {"bytes": torn}))

    def _drop_reserve(self) -> bool:
        """Gives the next reserve back; whether there was one."""
        for name, _ in _RESERVES:
            try:
                os.unlink(os.path.join(self._folder, name))
                return True
            except OSError:
                continue
        return False
