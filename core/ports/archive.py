"""Raw material kept as files beside the database: event ledgers, engine logs, the decision journal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass


@dataclass(frozen=True)
class KeptFile:
    """A raw file as kept: digest and size of the content as it came, name under which it lies compressed."""

    sha256: str
    bytes: int
    stored_as: str


class Archive(ABC):
    """Append-only files; nothing here is ever parsed in place."""

    @abstractmethod
    def append_events(self, run_id: str, offset: int, data: bytes) -> None:
        """Appends event bytes at `offset`; what is already there is not written twice. Synced before it returns."""

    @abstractmethod
    def ledger_size(self, run_id: str) -> int:
        """Bytes of a run's event ledger here, 0 when there is none."""

    @abstractmethod
    def replace_ledger(self, run_id: str, data: bytes) -> None:
        """Puts a whole ledger in place; the one before stays beside it under another name."""

    @abstractmethod
    def drop(self, stored_as: str) -> bool:
        """Removes a raw file; False when it was not there."""

    @abstractmethod
    def keep(self, run_id: str, name: str, data: bytes) -> KeptFile:
        """Keeps a raw file compressed."""

    @abstractmethod
    def read(self, stored_as: str, sha256: str) -> bytes:
        """The content as it came; raises OutputNotUnderstood when the digest does not fit."""

    @abstractmethod
    def append_decision(self, line: str) -> None:
        """Appends to decisions.jsonl and syncs; raises StoreError when it cannot (then the decision is refused)."""

    @abstractmethod
    def decision_lines(self) -> list[str] | None:
        """Lines of decisions.jsonl; None where there is no such file. Raises StoreError when it cannot be read."""

    @abstractmethod
    def keep_snapshot(self, sha256: str, text: str) -> None:
        """Keeps a decision's frozen evidence under its own hash, synced; one that is there stays. Raises StoreError."""

    @abstractmethod
    def snapshot(self, sha256: str) -> str | None:
        """A kept snapshot's text; None where it is not there."""
