"""A streamed HTTP answer taken apart after it came: status, chunks, `data:` lines. Bytes in, what was said and when out.

By hand, because the bench must not slow what it measures: http.client's line reader cost 120 µs of processor time an event, more than
a step of a small model. Here reading only notes when bytes came; the work waits until no token is awaited any more. Most events differ
from the one before in their text alone: of those only the text is decoded.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from itertools import accumulate
from operator import sub
from typing import Any, Sequence

from core.agent.same_but_text import SameButText

ERROR_BYTES = 4096
_MAX_HEAD = 1 << 16
_MAX_LINE = 4 << 20
ENDS = (b"\r\n0\r\n\r\n", b"data: [DONE]\n\n", b"data: [DONE]\n\n\r\n")  # what closes an answer, told without taking it apart
_DECODER = json.JSONDecoder(parse_constant=str)


class Reply:
    """Feed it what came, in order. Raises ValueError for what is no such answer.

    `said`: (time in ns, text) of every event with text. `objects`: the decoded `data:` objects in order, without those that differ
    from the one before them in their text alone.
    """

    def __init__(self) -> None:
        self.status = None  # type: int | None
        self.ended = False
        self.said = []  # type: list[tuple[int, str]]
        self.objects = []  # type: list[dict[str, Any]]
        self.error_body = b""
        self._raw = b""
        self._line = b""
        self._left = None  # type: int | None
        self._chunked = self._is_over = False
        self._same = SameButText()
        self._ends, self._times = [], []  # type: tuple[list[int], list[int]]

    def feed(self, came: Sequence[tuple[int, bytes]]) -> None:
        """Takes what came, as (ns, bytes) of each reading; what is not complete yet waits for the next call."""
        self._ends = list(accumulate([len(data) for _, data in came], initial=len(self._raw)))[1:]
        self._times = [at for at, _ in came]
        raw, self._raw = self._raw + b"".join([data for _, data in came]), b""
        at = 0
        if self.status is None:
            at = self._head(raw)
            if self.status is None:
                self._raw = raw
                return
        if self._chunked:
            self._chunks(raw, at)
        else:
            self._plain(raw, at)

    def rest(self, at_ns: int) -> None:
        """The connection closed: a last line without its newline counts too."""
        if self.status == 200 and self._line.startswith(b"data:") and not self.ended:
            line, self._line = self._line, b""
            self._event(at_ns, line)

    def _head(self, raw: bytes) -> int:
        """Where the body begins; `status` stays None while the head is not whole."""
        head, end, _ = raw.partition(b"\r\n\r\n")
        if len(head) > _MAX_HEAD:
            raise ValueError("the answer's head has no end")
        if not end:
            return 0
        first, *fields = head.split(b"\r\n")
        parts = first.split(None, 2)
        if len(parts) < 2 or not parts[0].startswith(b"HTTP/") or not parts[1].isdigit():
            raise ValueError("the answer is not HTTP: %r" % first[:80])
        pairs = [field.lower().partition(b":") for field in fields]
        headers = {name.strip(): value.strip() for name, _, value in pairs}
        self._chunked = b"chunked" in headers.get(b"transfer-encoding", b"")
        length = headers.get(b"content-length", b"")
        self._left = 0 if self._chunked else int(length) if length.isdigit() else None
        self.status = int(parts[1])
        return len(head) + len(end)

    def _plain(self, raw: bytes, at: int) -> None:
        stop = len(raw)
        if self._left is not None:
            stop = min(stop, at + self._left)
            self._left -= stop - at
        self._content(raw, at, stop)
        self.ended = self.ended or (self._left == 0 and self.status != 200)

    def _chunks(self, raw: bytes, at: int) -> None:
        """Goes through the chunks in hand; `_left` counts what is missing of the open one."""
        end = len(raw)
        while at < end and not self._is_over:
            if self._left:
                stop = min(end, at + self._left)
                self._left -= stop - at
                self._content(raw, at, stop)
                at = stop
                continue
            while at < end and raw[at] in b"\r\n":
                at += 1
            close = raw.find(b"\n", at)
            if close < 0:
                self._raw = raw[at:]
                return
            self._left = _size(raw[at:close])
            self._is_over = self._left == 0
            at = close + 1

    def _content(self, raw: bytes, at: int, stop: int) -> None:
        """Part of the body, from `at` to `stop`: the lines that end in it. An open one is kept."""
        if self.status != 200:
            self.error_body = (self.error_body + raw[at:stop])[:ERROR_BYTES]
            return
        while not self.ended:
            close = raw.find(b"\n", at, stop)
            if close < 0:
                self._keep(raw[at:stop])
                return
            if self._line:
                line, self._line = self._line + raw[at:close], b""
                self._read(line, 0, len(line), close)
            elif close > at:
                self._read(raw, at, close, close)
            at = close + 1

    def _keep(self, data: bytes) -> None:
        self._line += data
        if len(self._line) > _MAX_LINE:
            raise ValueError("a line of the answer has no end")

    def _read(self, raw: bytes, at: int, close: int, ended: int) -> None:
        """One line of the body, whose newline is byte `ended` of what is in hand."""
        text = self._same.text_of(raw, at, close)
        if text is None:
            if raw.startswith(b"data:", at):
                self._event(self._when(ended), raw[at:close])
        elif text:
            self.said.append((self._when(ended), text))

    def _when(self, at: int) -> int:
        """When the byte came."""
        return self._times[bisect_right(self._ends, at)]

    def _event(self, at_ns: int, line: bytes) -> None:
        data = line[5:].strip()
        if data == b"[DONE]":
            self.ended = True
            return
        event = _DECODER.decode(data.decode("utf-8"))
        if not isinstance(event, dict):
            raise ValueError("an event is not an object")
        self.objects.append(event)
        text, reason = text_and_reason(event)
        if text:
            self.said.append((at_ns, text))
        self._same.learn(line, text if reason is None else "", text_of)
        self.ended = event.get("stop") is True  # the plain completion route ends so, without [DONE]


def _size(line: bytes) -> int:
    """Of a chunk, from the line before it."""
    try:
        size = int(line.partition(b";")[0], 16)
    except ValueError:
        size = -1
    if size < 0:
        raise ValueError("a chunk of the answer has no size: %r" % line[:80])
    return size


def text_of(data: str) -> str:
    """What the event in a JSON text said."""
    return text_and_reason(_DECODER.decode(data))[0]


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
    gaps = sorted([gap / 1e6 for one in answers_ns for gap in map(sub, one[1:], one)])
    if len(gaps) < 2:
        return None
    return {"p50": _percentile(gaps, 50), "p95": _percentile(gaps, 95), "p99": _percentile(gaps, 99), "max": gaps[-1]}


def _percentile(ordered: list[float], percent: int) -> float:
    """As statistics.quantiles(n=100, method="inclusive") has it, which works out all 99 of them: 60 µs of an answer."""
    at, part = divmod(percent * (len(ordered) - 1), 100)
    return ordered[at] if part == 0 else (ordered[at] * (100 - part) + ordered[at + 1] * part) / 100
