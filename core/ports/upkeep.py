"""The database file and what stands beside it, as whoever looks after it sees them: copies, restoring, making anew, faults."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

# A finding: {"about": host | store | ledgers | boxes, "what": sentence, "todo": sentence}
Finding = dict[str, str]


class Upkeep(ABC):
    """Paths are absolute; a digest is {table: {rows, sha256}}."""

    folder: Path

    @abstractmethod
    def holder(self) -> dict[str, Any] | None:
        """{pid, host, program, since} of the process that has the database, None when nobody has it."""

    @abstractmethod
    def back_up(self, to: Path | None, *, kind: str, version: str) -> dict[str, Any]:
        """Copies the open database and its files; {backup, kind, made, rows, files, seq, sha, digests}. Raises StoreError."""

    @abstractmethod
    def backups(self, at: Path | None = None) -> list[dict[str, Any]]:
        """Manifests of the copies in a folder (None: the usual one), newest first, each with `path`."""

    @abstractmethod
    def drop_backup(self, manifest: dict[str, Any]) -> None:
        """Removes one copy; files that other copies need stay."""

    @abstractmethod
    def prove(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """Makes the database of a copy anew from record and ledgers, beside everything, and compares: {equal, differing, faults}."""

    @abstractmethod
    def restore(self, file: Path) -> dict[str, Any]:
        """Puts a copy in place; what was there is kept aside. Nobody may hold the database. Raises StoreInUse, InvalidInput."""

    @abstractmethod
    def rebuild(self, *, replace: bool) -> dict[str, Any]:
        """Makes the database anew from record and ledgers and compares. Nobody may hold it. Raises StoreInUse, StoreError."""

    @abstractmethod
    def begin_record(self) -> dict[str, Any]:
        """Starts the house record anew from the rows; the broken one is kept: {begun, rows, aside}. Raises StoreInUse, StoreError."""

    @abstractmethod
    def compare(self) -> dict[str, Any]:
        """The open database against one made anew: {equal, differing, rows, faults}. Writers wait while the rows are read."""

    @abstractmethod
    def findings(self, runs: list[dict[str, Any]], *, record: bool = True) -> list[Finding]:
        """What is wrong with record and ledgers; `runs`: {run_id, last_seq, last_sha, read_offset} as the rows have it."""

    @abstractmethod
    def mended(self) -> list[dict[str, Any]]:
        """What openings of the database had to mend: {at, what, faults}, oldest first."""

    @abstractmethod
    def free_bytes(self) -> int:
        """Free space where the database lies."""

    @abstractmethod
    def leave_request(self, verb: str, values: dict[str, Any]) -> str:
        """Asks whoever holds the database to do a verb; the request's id."""

    @abstractmethod
    def requests(self) -> list[dict[str, Any]]:
        """Requests nobody has answered yet: {id, verb, values}."""

    @abstractmethod
    def answer(self, request_id: str, answer: dict[str, Any]) -> None:
        """Answers a request."""

    @abstractmethod
    def answer_of(self, request_id: str) -> dict[str, Any] | None:
        """The answer, taken away with its request; None until it is there."""

    @abstractmethod
    def withdraw(self, request_id: str) -> None:
        """Takes a request back that nobody answered."""
