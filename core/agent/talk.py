"""All streams of a repetition, listened to until they are over. One thread waits for all of them."""

from __future__ import annotations

import gc
import select
import socket
import time
from typing import Any, Callable, Protocol, Sequence

from core.agent.client import LOOK_S
from core.agent.watch import Watch

ENDED_EARLY = "the request took longer than its limit"


class Talker(Protocol):
    """What `converse` waits for: one request, or several one after another. See Stream."""

    answer: dict[str, Any]

    def open(self) -> socket.socket | None: ...

    def take(self, flags: int = ...) -> bool: ...

    def go_on(self) -> socket.socket | None: ...

    def close(self, why: str = "") -> None: ...


def converse(streams: Sequence[Talker], watch: Watch, limit_s: float, died: Callable[[], bool]) -> None:
    """Runs all streams to their end; gives them up when the run is stopped, the limit is over or the engine is gone.

    One thread waits for all of them and only notes what came when: parsing while tokens are awaited would slow the engine on a small box.
    """
    talk, collects = _Talk(streams), gc.isenabled()
    gc.disable()
    deadline = time.monotonic() + limit_s
    why = "the run was stopped"
    try:
        talk.begin()
        while talk.is_open:
            talk.listen(min(LOOK_S, limit_s))
            watch()
            if died():
                talk.listen(1.0)  # what it had sent already may still be read
                why = "the engine ended"
                return
            if time.monotonic() > deadline:
                why = ENDED_EARLY
                return
    finally:
        talk.end(why)
        if collects:
            gc.enable()


class _Talk:
    """Which streams are still open, and one wait for all of them."""

    def __init__(self, streams: Sequence[Talker]) -> None:
        self._streams = streams
        self._open = {}  # type: dict[int, Talker]
        self._poll = select.poll()

    @property
    def is_open(self) -> bool:
        return bool(self._open)

    def begin(self) -> None:
        for stream in self._streams:
            self._wait_for(stream, stream.open())

    def _wait_for(self, stream: Talker, found: socket.socket | None) -> None:
        if found is not None:
            self._poll.register(found, select.POLLIN)
            self._open[found.fileno()] = stream

    def listen(self, seconds: float) -> None:
        """Takes in what comes for so long, or until all answers are over."""
        until = time.monotonic() + seconds
        while self._open and time.monotonic() < until:
            if len(self._open) == 1:
                self._listen_to_one(until)
            else:
                self._listen_to_all(until, 1000.0 * seconds)

    def _listen_to_one(self, until: float) -> None:
        """A reading that waits: one system call for a token where asking first who has something takes two."""
        ((number, stream),) = self._open.items()
        take, clock = stream.take, time.monotonic
        while take(0):
            if clock() >= until:
                return
        self._over(number)

    def _listen_to_all(self, until: float, limit_ms: float) -> None:
        ready, talking, clock = self._poll.poll, self._open, time.monotonic
        while len(talking) > 1:
            for number, _ in ready(limit_ms):
                if not talking[number].take():
                    self._over(number)
            if clock() >= until:
                return

    def _over(self, number: int) -> None:
        """The answer is over; a tool loop asks its next question."""
        self._poll.unregister(number)
        stream = self._open.pop(number)
        self._wait_for(stream, stream.go_on())

    def end(self, why: str) -> None:
        still = list(self._open.values())
        for stream in self._streams:
            stream.close(why if any(stream is one for one in still) else "")
