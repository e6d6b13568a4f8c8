"""A box in memory: tests write its events and logs, take it off the network, lose an answer. Keeps the contract AgentBox keeps."""

from __future__ import annotations

import threading
from typing import Any

from core.errors import BoxUnreachable, RemoteTimeout
from core.ports.bench_box import BenchBox
from core.remote.run_paths import check_log_name, check_run_id

PROBE: dict[str, Any] = {
    "agent": None,
    "python": "3.11.2",
    "platform": "Linux",
    "hostname": "scripted",
    "user": "tester",
    "boot_id": "00000000-0000-0000-0000-000000000000",
    "wall": 0.0,
    "cpu_count": 2,
    "memory_mib": 4096,
    "disk_free_mib": 10000,
    "engines": [],
    "models": [],
    "gpus": {"state": "none", "why": "scripted", "list": []},
    "busy": None,
}


class ScriptedBox(BenchBox):
    """`unreachable` makes every call fail; `lose_answers` = n lets the next n calls act and then fail as a lost answer does.

    A test appends bytes with `append_events` and `append_log`, ends a run with `finish`, kills its agent with `lose_agent`.
    What was asked is in `submitted`, `starts` and `cancels`. `refuse` and `busy_with` decide the next starts.
    """

    def __init__(self, probe: dict[str, Any] | None = None) -> None:
        self.probe_answer = {**PROBE, **(probe or {})}
        self.unreachable = False
        self.lose_answers = 0
        self.refuse = ""
        self.busy_with = ""
        self.forgets: list[tuple[str, int, str, float]] = []
        self.leftovers: list[dict[str, Any]] = []
        self.submitted: dict[str, dict[str, Any]] = {}
        self.starts: list[str] = []
        self.cancels: list[tuple[str, str]] = []
        self.reads: list[tuple[str, int]] = []
        self.calls = 0
        self._files: dict[tuple[str, str], bytearray] = {}
        self._alive: set[str] = set()
        self._finished: set[str] = set()
        self._heartbeats: dict[str, dict[str, Any]] = {}
        self._lock = threading.RLock()

    def append_events(self, run_id: str, data: bytes) -> None:
        """More bytes of events.jsonl, whole lines or parts of one."""
        self.append_log(run_id, "events.jsonl", data)

    def append_log(self, run_id: str, name: str, data: bytes) -> None:
        """More bytes of another file of the run."""
        with self._lock:
            self._files.setdefault((run_id, name), bytearray()).extend(data)

    def replace_events(self, run_id: str, data: bytes) -> None:
        """Another file under the same name, as after a restored disk."""
        with self._lock:
            self._files[(run_id, "events.jsonl")] = bytearray(data)

    def beat(self, run_id: str, heartbeat: dict[str, Any]) -> None:
        """The heartbeat that `state` shows."""
        self._heartbeats[run_id] = heartbeat

    def finish(self, run_id: str) -> None:
        """The agent has written its last event and is gone."""
        self._finished.add(run_id)
        self._alive.discard(run_id)

    def lose_agent(self, run_id: str) -> None:
        """The agent is gone without a last event."""
        self._alive.discard(run_id)

    def probe(self) -> dict[str, Any]:
        self._reach()
        return self._answer(dict(self.probe_answer))

    def submit(self, run_id: str, spec: dict[str, Any]) -> dict[str, Any]:
        check_run_id(run_id)
        self._reach()
        with self._lock:
            return self._answer(self._start(run_id, spec))

    def state(self, run_id: str) -> dict[str, Any]:
        check_run_id(run_id)
        self._reach()
        with self._lock:
            return self._answer(
                {
                    "known": run_id in self.submitted,
                    "alive": run_id in self._alive,
                    "finished": run_id in self._finished,
                    "heartbeat": self._heartbeats.get(run_id),
                }
            )

    def cancel(self, run_id: str, who: str) -> dict[str, Any]:
        check_run_id(run_id)
        self._reach()
        with self._lock:
            self.cancels.append((run_id, who))
            if run_id not in self.submitted:
                return self._answer({"answer": "unknown-run", "left": []})
            if run_id in self._finished:
                return self._answer({"answer": "finished", "left": []})
            return self._answer({"answer": "asked" if run_id in self._alive else "reaped", "left": []})

    def reap(self) -> dict[str, Any]:
        self._reach()
        return self._answer({"reaped": list(self.leftovers)})

    def forget(self, run_id: str, *, seq: int, sha: str, age_s: float) -> dict[str, Any]:
        check_run_id(run_id)
        self._reach()
        with self._lock:
            self.forgets.append((run_id, seq, sha, age_s))
            known = self.submitted.pop(run_id, None)
            return self._answer({"answer": "unknown-run" if known is None else "forgotten", "why": ""})

    def read_events(self, run_id: str, offset: int, limit: int = 1 << 20) -> bytes:
        check_run_id(run_id)
        return self._read(run_id, "events.jsonl", offset, limit)

    def read_log(self, run_id: str, name: str, offset: int, limit: int = 1 << 20) -> bytes:
        check_run_id(run_id)
        return self._read(run_id, check_log_name(name), offset, limit)

    def log_size(self, run_id: str, name: str) -> int | None:
        check_run_id(run_id)
        check_log_name(name)
        self._reach()
        with self._lock:
            held = self._files.get((run_id, name))
            return self._answer(None if held is None else len(held))

    def close(self) -> None:
        """Nothing is held."""

    def _start(self, run_id: str, spec: dict[str, Any]) -> dict[str, Any]:
        if run_id in self.submitted:
            return {"answer": "already", "finished": run_id in self._finished}
        if self.refuse:
            return {"answer": "refused", "why": self.refuse}
        if self.busy_with:
            return {"answer": "busy", "by": self.busy_with}
        self.submitted[run_id] = spec
        self.starts.append(run_id)
        self._alive.add(run_id)
        return {"answer": "started", "pid": 1000 + len(self.starts)}

    def _read(self, run_id: str, name: str, offset: int, limit: int) -> bytes:
        self._reach()
        with self._lock:
            self.reads.append((name, offset))
            return self._answer(bytes(self._files.get((run_id, name), b"")[offset : offset + max(limit, 0)]))

    def _reach(self) -> None:
        self.calls += 1
        if self.unreachable:
            raise BoxUnreachable("scripted: the port refused the connection.")

    def _answer(self, value: Any) -> Any:
        if self.lose_answers:
            self.lose_answers -= 1
            raise RemoteTimeout("scripted: the answer was lost.")
        return value
