"""Waiting for streams: what it costs in system calls, and that a silent engine holds nobody up."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from core.agent import talk
from core.agent.client import Door, Stream
from core.agent.talk import ENDED_EARLY, converse
from core.agent.watch import Stopped

EVENTS = 30
_POLL = select.poll
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


class Speaker:
    """A server that answers every request with so many events, a few milliseconds apart, and may fall silent."""

    def __init__(self) -> None:
        self.silent_after = EVENTS
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._door.getsockname()[1])
        self._done = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                found, _ = self._door.accept()
            except OSError:
                return
            threading.Thread(target=self._speak, args=(found,), daemon=True).start()

    def _speak(self, found: socket.socket) -> None:
        with found:
            found.recv(1 << 16)
            found.sendall(HEAD)
            for number in range(self.silent_after):
                time.sleep(0.004)
                found.sendall(chunk(b'data: {"choices":[{"delta":{"content":"%d "}}]}\n\n' % number))
            if self.silent_after < EVENTS:
                self._done.wait(20.0)
            found.sendall(chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")

    def close(self) -> None:
        self._done.set()
        self._door.close()


@pytest.fixture
def speaker() -> Iterator[Speaker]:
    found = Speaker()
    yield found
    found.close()


class Counted(Stream):
    """Each `take` is one system call."""

    takes = 0

    def take(self, flags: int = socket.MSG_DONTWAIT) -> bool:
        self.takes += 1
        return super().take(flags)


class CountedPoll:
    calls = 0

    def __init__(self) -> None:
        self._poll = _POLL()
        self.register, self.unregister = self._poll.register, self._poll.unregister

    def poll(self, limit_ms: float) -> list[tuple[int, int]]:
        CountedPoll.calls += 1
        return self._poll.poll(limit_ms)


def talked(speaker: Speaker, count: int, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Counted], int]:
    monkeypatch.setattr(CountedPoll, "calls", 0)
    monkeypatch.setattr(talk.select, "poll", CountedPoll)
    streams = [Counted(Door(speaker.port, "k"), "/v1/chat/completions", {}) for _ in range(count)]
    converse(streams, lambda: None, 20.0, lambda: False)  # type: ignore[arg-type]
    assert {(stream.answer["error"], stream.answer["events"]) for stream in streams} == {(None, EVENTS)}
    assert all(stream.arrivals == sorted(stream.arrivals) for stream in streams)
    return streams, CountedPoll.calls


def test_one_stream_takes_one_system_call_an_event(speaker: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    (stream,), polls = talked(speaker, 1, monkeypatch)
    assert polls == 0
    assert stream.takes <= EVENTS + 4, "head and end, and a fifth of a second's patience where the machine is busy"
    assert len(stream._reply.objects) == 1, "all others differ in their text alone"


def test_several_streams_take_at_most_two(speaker: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    streams, polls = talked(speaker, 3, monkeypatch)
    assert sum(stream.takes for stream in streams) + polls <= 2 * 3 * (EVENTS + 4)


@pytest.mark.parametrize("count", [1, 2])
def test_a_silent_engine_is_given_up_and_what_it_said_is_kept(speaker: Speaker, count: int) -> None:
    speaker.silent_after = 5
    streams = [Stream(Door(speaker.port, "k"), "/v1/chat/completions", {}) for _ in range(count)]
    converse(streams, lambda: None, 0.3, lambda: False)  # type: ignore[arg-type]
    assert [(stream.answer["error"], stream.answer["events"]) for stream in streams] == [(ENDED_EARLY, 5)] * count


def test_a_stop_is_heard_while_one_engine_is_silent(speaker: Speaker) -> None:
    speaker.silent_after = 2
    looks = []

    def watch() -> None:
        looks.append(1)
        if len(looks) == 2:
            raise Stopped("Ada")

    stream = Stream(Door(speaker.port, "k"), "/v1/chat/completions", {})
    with pytest.raises(Stopped):
        converse([stream], watch, 20.0, lambda: False)  # type: ignore[arg-type]
    assert (stream.answer["error"], stream.answer["events"]) == ("the run was stopped", 2)
