"""The background worker that follows every active run of the app process. Knows no screen; safe to stop at any moment."""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from core.domain.run import ACTIVE, FAILED, QUEUED
from core.errors import BenchError, OutputNotUnderstood, RemoteError, StoreError
from core.services.follow import end_run, follow_once
from core.services.house import House

STRANGER_S = 10.0  # a box that somebody else holds is asked again after this


class Follower:
    """The one background worker of the app process: looks at every active run, backing off where a box is out of reach."""

    def __init__(self, house: House, *, poll_s: float) -> None:
        self._house, self._poll_s = house, poll_s
        self._stop = threading.Event()
        self._due: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._busy: dict[str, Future[None]] = {}
        self._pool = ThreadPoolExecutor(6, thread_name_prefix="follow")
        self._thread = threading.Thread(target=self._loop, name="follower", daemon=True)

    def start(self) -> None:
        """Begins; runs left from before a restart are picked up at once."""
        self._thread.start()

    def close(self) -> None:
        """Ends after the look in progress."""
        self._stop.set()
        self._house.wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=20)
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _loop(self) -> None:
        while not self._stop.is_set():
            self._house.wake.clear()
            for run in self._active():
                run_id = run["run_id"]
                idle = run_id not in self._busy or self._busy[run_id].done()
                if idle and (time.monotonic() >= self._due.get(run_id, 0.0) or run["cancel_at"]):
                    self._busy[run_id] = self._pool.submit(self._look, run_id)
            self._house.wake.wait(self._poll_s)

    def _active(self) -> list[dict[str, Any]]:
        try:
            return self._house.store.runs.find(states=ACTIVE)
        except StoreError:  # the next turn asks again: the store revives itself
            return []

    def _look(self, run_id: str) -> None:
        try:
            follow_once(self._house, run_id)
            self._failures.pop(run_id, None)
            self._due.pop(run_id, None)
            if self._waits_for_stranger(run_id):
                self._due[run_id] = time.monotonic() + STRANGER_S
        except (RemoteError, OSError) as problem:
            self._out_of_reach(run_id, problem)
        except StoreError as problem:
            self._not_stored(run_id, problem)
        except OutputNotUnderstood as problem:
            end_run(self._house, run_id, FAILED, problem.message, problem)
        except Exception as defect:  # noqa: BLE001 - the worker's loop: a defect is stored on the run and shown, never swallowed
            end_run(
                self._house,
                run_id,
                FAILED,
                f"A defect stopped the following of this run: {defect!r}",
                BenchError(repr(defect), title="Defect"),
            )

    def _waits_for_stranger(self, run_id: str) -> bool:
        run = self._house.store.runs.get(run_id)
        return run is not None and run["state"] == QUEUED and run["spec"] is not None

    def _not_stored(self, run_id: str, problem: StoreError) -> None:
        """The store refused (a full disk): the run goes on, the box keeps what it has, and the next look takes it in."""
        self._due[run_id] = time.monotonic() + 2.0
        with contextlib.suppress(StoreError):
            self._house.store.runs.set_state(run_id, problem=problem.as_json()["error"])

    def _out_of_reach(self, run_id: str, problem: Exception) -> None:
        """The run goes on without us; the page says since when, and the next look comes later (1, 2, 4 … 60 s)."""
        run = self._house.store.runs.get(run_id)
        if run is None:
            return
        misses = self._failures[run_id] = self._failures.get(run_id, 0) + 1
        jitter = int(hashlib.sha256(f"{run_id}{misses}".encode()).hexdigest()[:4], 16) / 65536
        self._due[run_id] = time.monotonic() + min(60.0, 2.0 ** min(misses - 1, 6)) * (0.8 + 0.4 * jitter)
        known = problem if isinstance(problem, BenchError) else BenchError(str(problem), title="The box could not be used")
        self._house.store.runs.set_state(
            run_id, unreachable_since=run["unreachable_since"] or self._house.clock.now(), problem=known.as_json()["error"]
        )
