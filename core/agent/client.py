"""Streamed requests to the engine, timed by the client's own clock. Standard library only; one thread a stream."""

from __future__ import annotations

import hashlib
import http.client
import json
import socket
import threading
import time
from typing import Any, Callable, Sequence

from core.agent.watch import Watch

_MAX_LINE = 4 << 20
_MAX_LINES = 2000000
_ERROR_BYTES = 4096
_SLACK_S = 5.0  # `converse` ends a request that is late; the socket's own limit is the second net
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


class Stream(threading.Thread):
    """One request. `answer` is complete when the thread has ended, whatever happened."""

    def __init__(self, door: Door, route: str, body: dict[str, Any], limit_s: float) -> None:
        super().__init__(name="stream", daemon=True)
        self._door, self._route, self._body = door, route, body
        self._connection = http.client.HTTPConnection("127.0.0.1", door.port, timeout=limit_s + _SLACK_S)
        self._socket = None  # type: socket.socket | None
        self._text = hashlib.sha256()
        self._gave_up = ""
        self.answer = {
            "timings": None, "usage": None, "http_status": None, "ttft_ms": None, "wall_ms": None, "first_ns": None, "last_ns": None,
            "events": 0, "client_tok_s": None, "text_sha256": None, "finish_reason": None, "cached_tokens": None, "error": None,
        }  # type: dict[str, Any]  # fmt: skip

    def give_up(self, why: str) -> None:
        """Ends the request from outside: the reading thread sees the connection close."""
        self._gave_up = why
        if self._socket is not None:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def run(self) -> None:
        sent = time.monotonic_ns()
        try:
            self._talk()
        except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
            self.answer["error"] = self._gave_up or "%s: %s" % (type(error).__name__, error)
        finally:
            self._connection.close()
        if self._gave_up:
            self.answer["error"] = self._gave_up
        self._sum_up(sent, time.monotonic_ns())

    def _talk(self) -> None:
        self._connection.connect()
        self._socket = self._connection.sock
        self._connection.request("POST", self._route, body=json.dumps(self._body).encode("utf-8"), headers=self._door.headers())
        response = self._connection.getresponse()
        self.answer["http_status"] = response.status
        if response.status != 200:
            self.answer["error"] = response.read(_ERROR_BYTES).decode("utf-8", "replace")
            return
        for _ in range(_MAX_LINES):
            line = response.readline(_MAX_LINE)
            if not line:
                return
            if line.startswith(b"data:") and self._take(line[5:].strip()):
                return
        raise ValueError("the answer has no end")

    def _take(self, data: bytes) -> bool:
        """Takes one event in; True at the end of the stream."""
        if data == b"[DONE]":
            return True
        now = time.monotonic_ns()
        event = json.loads(data.decode("utf-8"), parse_constant=str)
        if not isinstance(event, dict):
            raise ValueError("an event is not an object")
        if "error" in event:
            self.answer["error"] = json.dumps(event["error"])[:_ERROR_BYTES]
        text, reason = _text_and_reason(event)
        if text:
            self._text.update(text.encode("utf-8", "replace"))
            self.answer["first_ns"] = self.answer["first_ns"] or now
            self.answer["last_ns"] = now
            self.answer["events"] += 1
        self.answer["finish_reason"] = reason or self.answer["finish_reason"]
        for key in ("timings", "usage"):
            if isinstance(event.get(key), dict):
                self.answer[key] = event[key]
        return event.get("stop") is True  # the plain completion route ends so, without [DONE]

    def _sum_up(self, sent: int, ended: int) -> None:
        answer = self.answer
        answer["wall_ms"] = (ended - sent) / 1e6
        answer["text_sha256"] = self._text.hexdigest()
        answer["cached_tokens"] = cached_tokens(answer)
        if answer["first_ns"] is not None:
            answer["ttft_ms"] = (answer["first_ns"] - sent) / 1e6
            span = answer["last_ns"] - answer["first_ns"]
            count = (answer["timings"] or {}).get("predicted_n")
            if span > 0 and isinstance(count, int) and count > 1:
                answer["client_tok_s"] = (count - 1) * 1e9 / span


def _text_and_reason(event: dict[str, Any]) -> tuple[str, str | None]:
    """What was said, from any of the routes: chat, completions, plain completion."""
    choices = event.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else event
    delta = choice.get("delta")
    source = delta if isinstance(delta, dict) else choice
    parts = [source.get(key) for key in ("reasoning_content", "content", "text")]
    reason = choice.get("finish_reason") or choice.get("stop_type")
    return "".join(part for part in parts if isinstance(part, str)), reason if isinstance(reason, str) and reason != "none" else None


def cached_tokens(answer: dict[str, Any]) -> int | None:
    """Prompt tokens that were not computed, from the timings or else the usage object; None when neither says."""
    found = (answer["timings"] or {}).get("cache_n")
    if not isinstance(found, int):
        details = (answer["usage"] or {}).get("prompt_tokens_details")
        found = details.get("cached_tokens") if isinstance(details, dict) else None
    return found if isinstance(found, int) else None


def body_for(route: str, body: dict[str, Any], prompt: str, max_tokens: int) -> dict[str, Any]:
    """The request's JSON: the spec's fields, then what the agent decides itself."""
    full = dict(body, stream=True, max_tokens=max_tokens)
    if route.startswith("/v1/"):
        full["stream_options"] = {"include_usage": True}
    else:
        full["n_predict"] = max_tokens
    if "chat" in route:
        full["messages"] = [{"role": "user", "content": prompt}]
    else:
        full["prompt"] = prompt
    return full


def converse(streams: Sequence[Stream], watch: Watch, limit_s: float, died: Callable[[], bool]) -> None:
    """Runs all streams to their end; gives them up when the run is stopped, the limit is over or the engine is gone."""
    deadline = time.monotonic() + limit_s
    for stream in streams:
        stream.start()
    try:
        while any(stream.is_alive() for stream in streams):
            next(stream for stream in streams if stream.is_alive() or stream is streams[-1]).join(0.05)
            watch()
            if died():
                _let_end(streams)  # what it had sent already may still be read
                _give_up(streams, "the engine ended")
            elif time.monotonic() > deadline:
                _give_up(streams, ENDED_EARLY)
    except BaseException:
        _give_up(streams, "the run was stopped")
        raise


def _give_up(streams: Sequence[Stream], why: str) -> None:
    for stream in streams:
        if stream.is_alive():
            stream.give_up(why)
    for stream in streams:
        stream.join(1.0)


def _let_end(streams: Sequence[Stream]) -> None:
    deadline = time.monotonic() + 1.0
    for stream in streams:
        stream.join(max(0.0, deadline - time.monotonic()))
