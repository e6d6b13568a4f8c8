"""Streamed requests to the engine, timed by the client's own clock. Standard library only; one thread waits for all streams."""

from __future__ import annotations

import hashlib
import http.client
import json
import select
import socket
import time
from typing import Any, Callable, Protocol, Sequence

from core.agent.reply import ENDS, ERROR_BYTES, Reply, gaps_ms, text_and_reason
from core.agent.watch import Watch

_AT_ONCE = 1 << 16
_HELD = 2000  # readings a stream may hold before they are taken apart
_SEND_S = 10.0
_LOOK_S = 0.2
ENDED_EARLY = "the request took longer than its limit"


class Door:
    """Where the engine listens and the key it wants."""

    def __init__(self, port: int, key: str) -> None:
        self.port, self._key = port, key

    def headers(self, key: str | None = None) -> dict[str, str]:
        return {"Authorization": "Bearer " + (self._key if key is None else key), "Content-Type": "application/json", "Connection": "close"}

    def get(self, route: str, *, key: str | None = None, timeout: float = 5.0, limit: int = 4 << 20) -> tuple[int, bytes]:
        """(status, body); (0, b"") when nobody answers. The body is cut at `limit`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request("GET", route, headers=self.headers(key))
            response = connection.getresponse()
            return response.status, response.read(limit)
        except (OSError, http.client.HTTPException, ValueError):
            return 0, b""
        finally:
            connection.close()


class Stream:
    """One request. `open` sends it, `take` notes what came, `close` takes it apart; `answer` is complete then, whatever happened."""

    def __init__(self, door: Door, route: str, body: dict[str, Any]) -> None:
        self._door, self._route, self._body = door, route, body
        self._socket = None  # type: socket.socket | None
        self._reply = Reply()
        self._came = []  # type: list[tuple[int, bytes]]
        self.arrivals = []  # type: list[int]
        self.is_closed = False
        self._sent = self._ended = time.monotonic_ns()
        self.answer = {
            "timings": None, "usage": None, "http_status": None, "ttft_ms": None, "wall_ms": None, "last_token_ms": None, "first_ns": None,
            "last_ns": None, "events": 0, "tokens_per_event": None, "gap_ms": None, "client_tok_s": None, "text_sha256": None,
            "finish_reason": None, "cached_tokens": None, "slot": None, "error": None,
        }  # type: dict[str, Any]  # fmt: skip

    def open(self) -> socket.socket | None:
        """Sends the request; the socket to wait on, None when nobody took it."""
        data = json.dumps(self._body).encode("utf-8")
        lines = ["POST %s HTTP/1.1" % self._route, "Host: 127.0.0.1:%d" % self._door.port, "Content-Length: %d" % len(data)]
        lines += ["%s: %s" % pair for pair in self._door.headers().items()]
        self._sent = self._ended = time.monotonic_ns()
        try:
            self._socket = socket.create_connection(("127.0.0.1", self._door.port), timeout=_SEND_S)
            self._socket.sendall("\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + data)
            self._socket.setblocking(False)
        except OSError as error:
            self._fail("%s: %s" % (type(error).__name__, error))
            return None
        return self._socket

    def take(self) -> bool:
        """Notes the bytes that came; False when the answer is over. Runs once for every token: nothing is parsed here."""
        try:
            data = self._socket.recv(_AT_ONCE)  # type: ignore[union-attr]
        except BlockingIOError:
            return True
        except OSError as error:
            self._fail("%s: %s" % (type(error).__name__, error))
            return False
        self._ended = now = time.monotonic_ns()
        if not data:
            return False
        self._came.append((now, data))
        if data.endswith(ENDS):
            return False
        if len(self._came) > _HELD:
            self._take_apart()
            return self.answer["error"] is None and not self._reply.ended
        return True

    def go_on(self) -> socket.socket | None:
        """What comes after the answer: nothing, one request is all."""
        return None

    def close(self, why: str = "") -> None:
        """Ends the request, for the reason given when it is not over, and fills `answer`."""
        self.is_closed = True
        if self._socket is not None:
            self._socket.close()
        if why:
            self._ended = time.monotonic_ns()
            self._fail(why)
        self._take_apart(is_all=True)
        self._sum_up()

    def _fail(self, why: str) -> None:
        self.answer["error"] = self.answer["error"] or why

    def _take_apart(self, *, is_all: bool = False) -> None:
        came, self._came = self._came, []
        try:
            for at, data in came:
                self._reply.feed(at, data)
            if is_all:
                self._reply.rest(self._ended)
        except (ValueError, RecursionError) as error:
            self._fail("%s: %s" % (type(error).__name__, error))

    def _sum_up(self) -> None:
        answer, reply = self.answer, self._reply
        answer["http_status"] = reply.status
        if reply.status is None:
            self._fail("the connection closed without an answer")
        elif reply.status != 200:
            self._fail(reply.error_body.decode("utf-8", "replace"))
        arrivals, said = self._read_events(reply.events)
        self.arrivals = arrivals
        answer["events"], answer["gap_ms"] = len(arrivals), gaps_ms(arrivals)
        answer["wall_ms"] = (self._ended - self._sent) / 1e6
        answer["text_sha256"] = hashlib.sha256("".join(said).encode("utf-8", "replace")).hexdigest()
        answer["cached_tokens"] = cached_tokens(answer)
        if arrivals:
            self._clock(arrivals)

    def _read_events(self, events: list[tuple[int, dict[str, Any]]]) -> tuple[list[int], list[str]]:
        """Arrival of every event with text, and the texts; the rest goes into `answer`."""
        answer, arrivals, said = self.answer, [], []
        for at, event in events:
            if "error" in event:
                self._fail(json.dumps(event["error"])[:ERROR_BYTES])
            text, reason = text_and_reason(event)
            if text:
                arrivals.append(at)
                said.append(text)
            answer["finish_reason"] = reason or answer["finish_reason"]
            for key in ("timings", "usage"):
                if isinstance(event.get(key), dict):
                    answer[key] = event[key]
            slot = event.get("id_slot")
            answer["slot"] = slot if isinstance(slot, int) and slot >= 0 else answer["slot"]
        return arrivals, said

    def _clock(self, arrivals: list[int]) -> None:
        """What the client's own clock says. The last token is kept apart from the decode rate: it includes waiting and prompt."""
        answer, first, last = self.answer, arrivals[0], arrivals[-1]
        answer["first_ns"], answer["last_ns"] = first, last
        answer["ttft_ms"], answer["last_token_ms"] = (first - self._sent) / 1e6, (last - self._sent) / 1e6
        count = (answer["timings"] or {}).get("predicted_n")
        if isinstance(count, int) and count > 0:
            answer["tokens_per_event"] = count / len(arrivals)
            if last > first and count > 1:
                answer["client_tok_s"] = (count - 1) * 1e9 / (last - first)


def cached_tokens(answer: dict[str, Any]) -> int | None:
    """Prompt tokens that were not computed, from the timings or else the usage object; None when neither says."""
    found = (answer["timings"] or {}).get("cache_n")
    if not isinstance(found, int):
        details = (answer["usage"] or {}).get("prompt_tokens_details")
        found = details.get("cached_tokens") if isinstance(details, dict) else None
    return found if isinstance(found, int) else None


def body_for(route: str, body: dict[str, Any], said: Sequence[str], max_tokens: int) -> dict[str, Any]:
    """The request's JSON: the spec's fields, then what the agent decides itself. `said`: asked, answered, asked …, the last one asked."""
    full = dict(body, stream=True, max_tokens=max_tokens)
    if route.startswith("/v1/"):
        full["stream_options"] = {"include_usage": True}
    else:
        full["n_predict"] = max_tokens
    if "chat" in route:
        full["messages"] = [{"role": "assistant" if at % 2 else "user", "content": text} for at, text in enumerate(said)]
    else:
        full["prompt"] = "\n".join(said)
    return full


class Talker(Protocol):
    """What `converse` waits for: one request, or several one after another. See Stream."""

    answer: dict[str, Any]

    def open(self) -> socket.socket | None: ...

    def take(self) -> bool: ...

    def go_on(self) -> socket.socket | None: ...

    def close(self, why: str = "") -> None: ...


def converse(streams: Sequence[Talker], watch: Watch, limit_s: float, died: Callable[[], bool]) -> None:
    """Runs all streams to their end; gives them up when the run is stopped, the limit is over or the engine is gone.

    One thread waits for all of them and only notes what came when: parsing while tokens are awaited would slow the engine on a small box.
    """
    talk = _Talk(streams)
    deadline = time.monotonic() + limit_s
    why = "the run was stopped"
    try:
        talk.begin()
        while talk.is_open:
            talk.listen(min(_LOOK_S, limit_s))
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
        ready, talking, clock = self._poll.poll, self._open, time.monotonic
        until, limit_ms = clock() + seconds, 1000.0 * seconds
        while talking:
            for number, _ in ready(limit_ms):
                if not talking[number].take():
                    self._poll.unregister(number)
                    stream = talking.pop(number)
                    self._wait_for(stream, stream.go_on())
            if clock() >= until:
                return

    def end(self, why: str) -> None:
        still = list(self._open.values())
        for stream in self._streams:
            stream.close(why if any(stream is one for one in still) else "")
