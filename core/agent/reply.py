"""A streamed HTTP answer taken apart after it came: status, chunks, `data:` lines. Bytes in, events with their time of arrival out.

By hand, because the bench must not slow what it measures: http.client's line reader cost 120 µs of processor time an event, more than
a step of a small model. Here reading only notes when bytes came; the work waits until no token is awaited any more.
"""

from __future__ import annotations

import http.client
import io
import json
from statistics import quantiles
from typing import Any

ERROR_BYTES = 4096
_MAX_HEAD = 1 << 16
_MAX_LINE = 4 << 20
ENDS = (b"\r\n0\r\n\r\n", b"data: [DONE]\n\n", b"data: [DONE]\n\n\r\n")  # what closes an answer, told without taking it apart
_DECODER = json.JSONDecoder(parse_constant=str)


class Reply:
    """Feed it what came, in order; `events` are (time in ns, decoded `data:` object). Raises ValueError for what is no such answer."""

    def __init__(self) -> None:
        self.status = None  # type: int | None
        self.ended = False
        self.events = []  # type: list[tuple[int, dict[str, Any]]]
        self.error_body = b""
        self._raw = b""
        self._line = b""
        self._left = None  # type: int | None
        self._chunked = False

    def feed(self, at_ns: int, data: bytes) -> None:
        """Takes the bytes that came at `at_ns`; what is not complete yet waits for the next call."""
        self._raw += data
        if self.status is None and not self._head():
            return
        body = self._chunks() if self._chunked else self._plain()
        if self.status != 200:
            self.error_body = (self.error_body + body)[:ERROR_BYTES]
            return
        *lines, self._line = (self._line + body).split(b"\n")
        if len(self._line) > _MAX_LINE:
            raise ValueError("a line of the answer has no end")
        for line in lines:
            if line.startswith(b"data:") and not self.ended:
                self._event(at_ns, line[5:].strip())

    def rest(self, at_ns: int) -> None:
        """The connection closed: a last line without its newline counts too."""
        if self.status == 200 and self._line.startswith(b"data:") and not self.ended:
            line, self._line = self._line, b""
            self._event(at_ns, line[5:].strip())

    def _head(self) -> bool:
        head, end, rest = self._raw.partition(b"\r\n\r\n")
        if not end:
            if len(head) > _MAX_HEAD:
                raise ValueError("the answer's head has no end")
            return False
        first, _, fields = head.partition(b"\r\n")
        parts = first.split(None, 2)
        if len(parts) < 2 or not parts[0].startswith(b"HTTP/") or not parts[1].isdigit():
            raise ValueError("the answer is not HTTP: %r" % first[:80])
        headers = http.client.parse_headers(io.BytesIO(fields + b"\r\n\r\n"))
        self._chunked = "chunked" in (headers.get("Transfer-Encoding") or "").lower()
        length = headers.get("Content-Length")
        self._left = 0 if self._chunked else int(length) if length and length.isdigit() else None
        self.status, self._raw = int(parts[1]), rest
        return True

    def _plain(self) -> bytes:
        body, self._raw = self._raw, b""
        if self._left is not None:
            body = body[: self._left]
            self._left -= len(body)
            self.ended = self.ended or (self._left == 0 and self.status != 200)
        return body

    def _chunks(self) -> bytes:
        """The content of the chunks in hand; `_left` counts what is missing of the open one."""
        found = []
        while self._raw:
            if self._left:
                part = self._raw[: self._left]
                self._left -= len(part)
                self._raw = self._raw[len(part) :]
                found.append(part)
                continue
            line, end, rest = self._raw.lstrip(b"\r\n").partition(b"\n")
            if not end:
                break
            try:
                self._left = int(line.split(b";")[0].strip(), 16)
            except ValueError:
                raise ValueError("a chunk of the answer has no size: %r" % line[:80]) from None
            self._raw = rest if self._left else b""
        return b"".join(found)

    def _event(self, at_ns: int, data: bytes) -> None:
        if data == b"[DONE]":
            self.ended = True
            return
        event = _DECODER.decode(data.decode("utf-8"))
        if not isinstance(event, dict):
            raise ValueError("an event is not an object")
        self.events.append((at_ns, event))
        self.ended = event.get("stop") is True  # the plain completion route ends so, without [DONE]


def text_and_reason(event: dict[str, Any]) -> tuple[str, str | None]:
    """What was said, from any of the routes: chat, completions, plain completion."""
    choices = event.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else event
    delta = choice.get("delta")
    source = delta if isinstance(delta, dict) else choice
    parts = [source.get(key) for key in ("reasoning_content", "content", "text")]
    reason = choice.get("finish_reason") or choice.get("stop_type")
    return "".join(part for part in parts if isinstance(part, str)), reason if isinstance(reason, str) and reason != "none" else None


def gaps_ms(*answers_ns: list[int]) -> dict[str, float] | None:
    """{p50, p95, p99, max} of the time between two streamed events with text of one answer, ms; None below two gaps.

    An event may hold several tokens, or a step may send several at once: what a reader of the stream sees, not the time of a step.
    """
    gaps = [(came[at] - came[at - 1]) / 1e6 for came in answers_ns for at in range(1, len(came))]
    if len(gaps) < 2:
        return None
    cut = quantiles(gaps, n=100, method="inclusive")
    return {"p50": cut[49], "p95": cut[94], "p99": cut[98], "max": max(gaps)}
