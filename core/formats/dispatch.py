"""Hands lines to the collectors that know a keyword in them, so that the many lines nobody reads cost next to nothing.

Whole pieces of the input are searched for a keyword at a time, which is far cheaper than asking every line. Keywords that occur only while
a model loads are looked for in the head of the input and, later, only in pieces that show signs of loading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from core.formats.lines import Line, clean, decoded, from_json_log, is_foreign

HEAD = 1024 * 1024  # bytes always searched for every keyword
LONGEST = 2048  # characters of a line that a collector sees
HOT = ("eval time", "total time", "ccept", "#calls", "pos = (", "fail", "listening", "truncated", "progress =", "tok/s")
GATES = (b"MiB", b"load", b"verrid", b" MB", b"breakdown")
Handler = Callable[[Line], None]


def renew(collector: object) -> None:
    """Makes a collector as new in place, for a second run in the same file: routes keep pointing at it."""
    vars(collector).update(vars(type(collector)()))


class Dispatcher:
    """Routes lines by keyword; collectors offer `handlers() -> {keyword: method name}`."""

    def __init__(self, collectors: Iterable[Any]) -> None:
        self.routes: dict[str, list[Handler]] = {}
        for collector in collectors:
            for keyword, method in collector.handlers().items():
                handlers = self.routes.setdefault(keyword, [])
                handlers.append(getattr(collector, method))
        self.keywords = list(self.routes)
        self.hits = 0
        self._hot = [(k.encode(), k) for k in self.keywords if k in HOT]
        self._cold = [(k.encode(), k) for k in self.keywords if k not in HOT]
        self._seen = 0

    def line(self, text: str) -> None:
        """One decoded line, prefixes allowed."""
        probe = f"\n{text}\n"
        self.route(text, [keyword for keyword in self.keywords if keyword in probe])

    def route(self, text: str, keywords: Iterable[str]) -> None:
        """Cleans a line once and calls each handler of its keywords once."""
        called: list[Handler] = []
        line: Line | None = None
        for keyword in keywords:
            for handler in self.routes[keyword]:
                if handler in called:
                    continue
                if line is None:
                    line = clean(text[:LONGEST])
                    if is_foreign(line.text):
                        return
                    self.hits += 1
                called.append(handler)
                handler(line)

    def piece(self, piece: bytes, jsonl: bool = False) -> None:
        """A piece of whole lines, as bytes."""
        if b" \n" in piece or b"\r\n" in piece or b"\t\n" in piece:
            piece = b"\n".join([raw.rstrip() for raw in piece.split(b"\n")])
        for raw, keywords in self._relevant(piece):
            for text in decoded(raw):
                if jsonl:
                    for message in from_json_log(text if text.startswith("{") else clean(text).text):
                        self.line(message)
                elif b"\r" in raw:
                    self.line(text)
                else:
                    self.route(text, keywords)

    def _relevant(self, piece: bytes) -> Iterator[tuple[bytes, list[str]]]:
        """The lines with a keyword in them, in order, each with its keywords."""
        pairs = self._hot
        if self._seen < HEAD or any(gate in piece for gate in GATES):
            pairs = self._hot + self._cold
        self._seen += len(piece)
        found: dict[int, tuple[int, list[str]]] = {}
        padded = b"\n" + piece
        for needle, keyword in pairs:
            at = padded.find(needle)
            while at >= 0:
                at += needle.startswith(b"\n")
                start = padded.rfind(b"\n", 0, at) + 1
                end = padded.find(b"\n", at)
                end = len(padded) if end < 0 else end
                found.setdefault(start, (end, []))[1].append(keyword)
                at = padded.find(needle, end)
        for start in sorted(found):
            end, keywords = found[start]
            yield padded[start:end], keywords
