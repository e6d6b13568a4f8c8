"""A streamed request to the engine, timed by the client's own clock. Standard library only."""

from __future__ import annotations

import hashlib
import http.client
import json
import socket
import struct
import time
from typing import Any, Sequence

from core.agent.reply import ENDS, ERROR_BYTES, Reply, gaps_ms, text_and_reason

_AT_ONCE = 1 << 14
_HELD = 2000  # readings a stream may hold before they are taken apart
_SEND_S = 10.0
LOOK_S = 0.2  # the longest that a reading waits
_LOOK_TIMEVAL = struct.pack("@ll", 0, int(LOOK_S * 1e6))


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
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            self._socket.settimeout(_SEND_S)
            self._socket.connect(("127.0.0.1", self._door.port))
            self._socket.sendall("\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + data)
            self._socket.settimeout(None)
            # The kernel's own limit on a reading that waits: Python's would poll before each, a second system call for every token.
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _LOOK_TIMEVAL)
        except OSError as error:
            self._fail("%s: %s" % (type(error).__name__, error))
            return None
        return self._socket

    def take(self, flags: int = socket.MSG_DONTWAIT) -> bool:
        """Notes the bytes that came; False when the answer is over. Runs once for every token: nothing is parsed here.

        `flags` 0 waits for them, a fifth of a second at most."""
        try:
            data = self._socket.recv(_AT_ONCE, flags)  # type: ignore[union-attr]
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
            self._reply.feed(came)
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
        self._read_objects(reply.objects)
        self.arrivals = arrivals = [at for at, _ in reply.said]
        answer["events"], answer["gap_ms"] = len(arrivals), gaps_ms(arrivals)
        answer["wall_ms"] = (self._ended - self._sent) / 1e6
        answer["text_sha256"] = hashlib.sha256("".join([text for _, text in reply.said]).encode("utf-8", "replace")).hexdigest()
        answer["cached_tokens"] = cached_tokens(answer)
        if arrivals:
            self._clock(arrivals)

    def _read_objects(self, events: list[dict[str, Any]]) -> None:
        """What the events told beside their text."""
        answer = self.answer
        for event in events:
            if "error" in event:
                self._fail(json.dumps(event["error"])[:ERROR_BYTES])
            answer["finish_reason"] = text_and_reason(event)[1] or answer["finish_reason"]
            for key in ("timings", "usage"):
                if isinstance(event.get(key), dict):
                    answer[key] = event[key]
            slot = event.get("id_slot")
            answer["slot"] = slot if isinstance(slot, int) and slot >= 0 else answer["slot"]

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
