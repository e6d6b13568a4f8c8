"""Short network errands done beside the page: started by a key, asked for later. A page never waits for a box."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from core.errors import BenchError


class Jobs:
    """At most four errands at once; the newest of a key counts."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(4, thread_name_prefix="errand")
        self._known: dict[str, Future[Any]] = {}

    def start(self, key: str, work: Callable[[], Any]) -> None:
        """Starts an errand unless one of the same key is still out."""
        if key not in self._known or self._known[key].done():
            self._known[key] = self._pool.submit(work)

    def state(self, key: str) -> str:
        """none | running | done | failed."""
        errand = self._known.get(key)
        if errand is None:
            return "none"
        if not errand.done():
            return "running"
        return "failed" if errand.exception() else "done"

    def result(self, key: str) -> Any:
        """What a finished errand brought; raises its error."""
        return self._known[key].result(timeout=0)

    def problem(self, key: str) -> BenchError | None:
        """The error a person can act on, None otherwise; anything else is a defect and is raised."""
        error = self._known[key].exception(timeout=0)
        if error is None or isinstance(error, BenchError):
            return error
        raise error

    def forget(self, key: str) -> None:
        """Drops a finished errand."""
        self._known.pop(key, None)

    def close(self) -> None:
        """Takes no more errands."""
        self._pool.shutdown(wait=False, cancel_futures=True)
