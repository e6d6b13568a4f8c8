"""`house.jsonl`: one numbered, hash-linked line for every transaction, written and synced before the transaction is.

The database can be made anew from it and the event ledgers. A line: {"seq", "prev", "at", "notes", "do", "sha"}; `do` is
[[statement, [parameters, …]], …] in the order it was done, `notes` says what came from another file (a migration, a piece of a ledger).
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from core.domain.recipe import canonical, digest
from core.errors import StoreError

Do = list[tuple[str, list[list[Any]]]]
_BLOCK = 1 << 16
_READERS: dict[str, Callable[[str], Any]] = {
    "time": datetime.fromisoformat,
    "day": date.fromisoformat,
    "float": float,
    "bytes": bytes.fromhex,
}


@dataclass(frozen=True)
class Head:
    """Number and hash of the last line; (0, "") before the first."""

    seq: int
    sha: str


START = Head(0, "")


class RecordBroken(StoreError):
    """A line of the record was changed, or one is missing."""

    default_title = "The house record is broken"


class HouseRecord:
    """The record as a file. One process at a time writes: whoever holds the database. `is_reader`: the file is only looked at."""

    def __init__(self, path: Path, *, is_reader: bool = False) -> None:
        self.path = path
        self._before = 0
        self.torn = 0 if is_reader else self._close_torn_line()
        self.head, self._previous = self._read_head(), Head(0, "")

    @property
    def is_empty(self) -> bool:
        """Whether nothing was recorded yet."""
        return self.head.seq == 0

    def append(self, do: Do, notes: list[dict[str, Any]]) -> Head:
        """Writes and syncs the next line. Raises OSError (a full disk); the file is as before then."""
        line: dict[str, Any] = {
            "seq": self.head.seq + 1,
            "prev": self.head.sha,
            "at": datetime.now(UTC).isoformat(),
            "notes": notes,
        }
        line["do"] = [[sql, [[_plain(value) for value in row] for row in rows]] for sql, rows in do]
        line["sha"] = digest(line)
        data = canonical(line).encode("utf-8") + b"\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self._before = os.fstat(descriptor).st_size
            try:
                _write_whole(descriptor, data)
            except OSError:
                os.ftruncate(descriptor, self._before)
                raise
        finally:
            os.close(descriptor)
        self._previous, self.head = self.head, Head(line["seq"], line["sha"])
        return self.head

    def take_back(self) -> None:
        """Takes the last line back: its transaction was refused, and whoever asked was told so. Needs no space."""
        os.truncate(self.path, self._before)
        self.head = self._previous

    def lines(self, *, after: Head = START, upto: int | None = None) -> Iterator[dict[str, Any]]:
        """Lines behind `after`, up to a number, each checked against the one before. Raises RecordBroken with the line's number."""
        if not self.path.exists():
            return
        last = after
        with self.path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                if upto is not None and number > upto:
                    return
                if number > after.seq:
                    line = _checked(raw, number, last)
                    last = Head(line["seq"], line["sha"])
                    yield {**line, "do": [(sql, [[_rich(value) for value in row] for row in rows]) for sql, rows in line["do"]]}

    def sha_at(self, seq: int) -> str | None:
        """Hash of a line by its number, None when there is no such line."""
        if seq == 0:
            return ""
        with self.path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                if number == seq:
                    return str(json.loads(raw)["sha"])
        return None

    def set_aside(self, name: str) -> Path:
        """Renames the file, so that a new record can begin; returns where it lies now."""
        aside = self.path.with_name(name)
        os.replace(self.path, aside)
        self.head = self._previous = Head(0, "")
        return aside

    def take_over(self, other: HouseRecord) -> None:
        """The other file becomes this one, whole or not at all."""
        os.replace(other.path, self.path)
        self.head, self._previous = other.head, Head(0, "")

    def _close_torn_line(self) -> int:
        """Cuts off a last line that was never finished: its transaction never began to commit. Returns its bytes."""
        size = self.path.stat().st_size if self.path.exists() else 0
        whole = _end_of_last_line(self.path, size) if size else 0
        if whole < size:
            os.truncate(self.path, whole)
        return size - whole

    def _read_head(self) -> Head:
        size = self.path.stat().st_size if self.path.exists() else 0
        whole = _end_of_last_line(self.path, size) if size else 0
        if whole == 0:
            return Head(0, "")
        start = _end_of_last_line(self.path, whole - 1)
        with self.path.open("rb") as file:
            file.seek(start)
            try:
                line = json.loads(file.read(whole - start))
                return Head(int(line["seq"]), str(line["sha"]))
            except (ValueError, KeyError, TypeError) as error:
                raise RecordBroken(
                    f"The last line of {self.path.name} cannot be read. Nothing was changed.", hint="See docs/store.md, “A broken record”."
                ) from error


def _checked(raw: bytes, number: int, last: Head) -> dict[str, Any]:
    try:
        line: dict[str, Any] = json.loads(raw)
        fits = (line["seq"], line["prev"]) == (number, last.sha) == (last.seq + 1, last.sha)
        if fits and line["sha"] == digest({key: value for key, value in line.items() if key != "sha"}):
            return line
    except (ValueError, KeyError, TypeError):
        pass
    raise RecordBroken(
        f"Line {number} of house.jsonl was changed, or one before it is missing.", hint="See docs/store.md, “A broken record”."
    )


def _end_of_last_line(path: Path, size: int) -> int:
    """Offset behind the last newline before `size`."""
    with path.open("rb") as file:
        end = size
        while end > 0:
            start = max(0, end - _BLOCK)
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
    return 0


def _write_whole(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.fsync(descriptor)


def _plain(value: Any) -> Any:
    """A parameter as JSON, exactly enough to come back as the same value. Anything else is a defect and stays loud."""
    if isinstance(value, datetime):
        return {"time": value.astimezone(UTC).isoformat()}
    if isinstance(value, date):
        return {"day": value.isoformat()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"{type(value).__name__} cannot stand in the house record: give text, numbers, times or lists of them")


def _rich(value: Any) -> Any:
    if isinstance(value, list):
        return [_rich(part) for part in value]
    if not isinstance(value, dict):
        return value
    ((kind, text),) = value.items()
    return _READERS[kind](text)
