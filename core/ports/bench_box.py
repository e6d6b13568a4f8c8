"""What a box can be asked for by name of a run: the agent's verbs and its files, wherever the box is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class BenchBox(ABC):
    """One registered box. Every call may raise RemoteError; none of them says that a run has ended when the box is silent."""

    @abstractmethod
    def probe(self) -> dict[str, Any]:
        """Python, engines (`--version`, `--help`), models with their header facts, GPUs or why none is known (form: docs/agent.md)."""

    @abstractmethod
    def submit(self, run_id: str, spec: dict[str, Any]) -> dict[str, Any]:
        """Hands over the spec and starts the agent: {"answer": "started" | "already" | "busy" | "refused", ...}. Safe to repeat."""

    @abstractmethod
    def state(self, run_id: str) -> dict[str, Any]:
        """{"known": bool, "alive": bool, "finished": bool, "heartbeat": {...} | None} as the box itself sees it."""

    @abstractmethod
    def cancel(self, run_id: str, who: str) -> dict[str, Any]:
        """Asks the run to stop; ends leftovers itself when the agent is gone. Idempotent."""

    @abstractmethod
    def reap(self) -> dict[str, Any]:
        """Ends what dead agents left behind: {"reaped": [{"run_id", "ended": [pids], "left": [pids]}]}."""

    def forgive(self) -> bool:
        """A person asks again: sign-ins that were refused before do not hold the next call back. Whether they did."""
        return False

    def survives_logout(self) -> bool | None:
        """Whether what a session starts goes on after it; False where the box ends it, None where it is not told."""
        return None

    @abstractmethod
    def forget(self, run_id: str, *, seq: int, sha: str, age_s: float) -> dict[str, Any]:
        """Removes the box's copy of a run whose last event the app holds: {"answer": "forgotten" | "kept" | "unknown-run", "why"}."""

    @abstractmethod
    def read_events(self, run_id: str, offset: int, limit: int = 1 << 20) -> bytes:
        """Bytes of events.jsonl from `offset` (possibly ending inside a line)."""

    @abstractmethod
    def read_log(self, run_id: str, name: str, offset: int, limit: int = 1 << 20) -> bytes:
        """Bytes of one of the run's files (`server-<n>.log`, `telemetry.csv`, `heartbeat.json`)."""

    @abstractmethod
    def log_size(self, run_id: str, name: str) -> int | None:
        """Size of one of the run's files in bytes, None when it does not exist."""
