"""Rows of runs as the services see them: what was asked, the state, the events, the right to take them in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime
from typing import Any

from core.ports.batch import Batch

Row = dict[str, Any]


class RunRows(ABC):
    """Runs, their state, their events."""

    @abstractmethod
    def insert(self, row: Row) -> bool:
        """Adds a run; False when this id is already there (a second click), nothing changed then."""

    @abstractmethod
    def get(self, run_id: str) -> Row | None:
        """The run with its state columns, `request` and `spec` as dicts."""

    @abstractmethod
    def find(self, *, worksheet_id: str | None = None, states: tuple[str, ...] | None = None, limit: int = 500) -> list[Row]:
        """Runs, newest first."""

    @abstractmethod
    def set_spec(self, run_id: str, spec: dict[str, Any], at: datetime) -> None:
        """Keeps the complete spec that was handed to the box; a second call with the same spec is fine."""

    @abstractmethod
    def set_state(self, run_id: str, **columns: Any) -> None:
        """Sets columns of run_state (state, note, problem, unreachable_since, reached_at, cancel_by, cancel_at, ended_at)."""

    @abstractmethod
    def reorder(self, run_ids: list[str]) -> None:
        """These runs wait in this order from now on (`queue_place`); one that waits no more is left alone."""

    @abstractmethod
    def take_lease(self, run_id: str, token: str, *, now: datetime, until: datetime) -> bool:
        """Takes or prolongs the right to take in a run's events; False while another worker's has not run out."""

    @abstractmethod
    def end_lease(self, run_id: str, token: str) -> None:
        """Gives it back; one that is somebody else's by now stays."""

    @abstractmethod
    def ingest(self, batch: Batch) -> bool:
        """Writes events, recipes, servers, samples and the new offset in one transaction. Rows already there are left as they are.

        False, and nothing written, where the batch came under a lease that is not its worker's any more."""

    @abstractmethod
    def events(self, run_id: str, *, kinds: tuple[str, ...] | None = None) -> list[Row]:
        """Events in order: {seq, kind, noted_at, body}."""

    @abstractmethod
    def add_raw_file(self, row: Row) -> None:
        """Records a raw file kept beside the database."""

    @abstractmethod
    def raw_files(self, run_id: str) -> list[Row]:
        """Raw files of a run by name."""

    @abstractmethod
    def retire(self, row: Row) -> None:
        """Records what the retention removed: run_id, what (box copy | raw log), name, days, noted_at. A second time changes nothing."""

    @abstractmethod
    def retired(self, run_id: str | None = None) -> list[Row]:
        """What the retention removed, of one run or of all."""
