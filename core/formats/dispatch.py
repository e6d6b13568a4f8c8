"""Hands lines to the collectors that know a keyword in them, so that the many lines nobody reads cost next to nothing.

Whole pieces of the input are searched for a keyword at a time, which is far cheaper than asking every line. All keywords are looked for in
the head of the input and wherever a model loads; elsewhere only those of requests, and those of a tool that the head has shown to be there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from core.formats.lines import LONGEST_LINE, Line, clean, decoded, from_json_log, is_foreign

HEAD = 1024 * 1024  # bytes always searched for every keyword
LONGEST = 2048  # characters of a line that a collector sees
HOT = ("l time", "ccept", "#calls", "pos = (", "fail", "truncated")
FOLLOW = ("progress =", "generation throughput", "SpecDecoding", "Decode batch", "llamacpp:", "vllm:", "tok/s", "|\n")
GATES = (b"buffer size", b"model_load", b"load_model")
AFTER = 512 * 1024  # bytes searched for everything after a sign of loading
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
        self._hot = [(k.encode(), k) for k in self.keywords if k in HOT]
        self._all = [(k.encode(), k) for k in self.keywords]
        self._seen = 0
        self._until = HEAD
        self._met: set[str] = set()

    def line(self, text: str) -> None:
        """One decoded line, prefixes allowed."""
        probe = f"\n{text}\n"
        self.route(text, [keyword for keyword in self.keywords if keyword in probe])

    def route(self, text: str, keywords: list[str]) -> None:
        """Cleans a line once and calls each handler of its keywords once."""
        if not keywords:
            return
        line = clean(text[:LONGEST])
        if is_foreign(line.text):
            return
        if len(keywords) == 1:
            for handler in self.routes[keywords[0]]:
                handler(line)
            return
        called: list[Handler] = []
        for keyword in keywords:
            for handler in self.routes[keyword]:
                if handler not in called:
                    called.append(handler)
                    handler(line)

    def piece(self, piece: bytes, jsonl: bool = False) -> None:
        """A piece of whole lines, as bytes."""
        if self._seen >= self._until and any(gate in piece for gate in GATES):
            self._until = self._seen + AFTER
        everything = self._seen < self._until
        self._seen += len(piece)
        if everything and (b" \n" in piece or b"\r" in piece or b"\t\n" in piece):  # some keywords hold the end of a line
            piece = b"\n".join([raw.rstrip() for raw in piece.split(b"\n")])
        pairs = self._all if everything else self._hot
        for raw, keywords in _relevant(piece, pairs):
            if everything and not self._met.issuperset(keywords):
                self._meet(keywords)
            if jsonl:
                self._object(raw)
            elif b"\r" in raw:
                for text in decoded(raw):
                    self.line(text)
            else:
                self.route(raw[:LONGEST_LINE].decode("utf-8", "replace"), keywords)

    def _meet(self, keywords: list[str]) -> None:
        """A tool's keyword was heard for the first time: from now on it is looked for everywhere."""
        for keyword in keywords:
            if keyword not in self._met:
                self._met.add(keyword)
                if keyword in FOLLOW:
                    self._hot.append((keyword.encode(), keyword))

    def _object(self, raw: bytes) -> None:
        """One line of a JSON log: its messages are lines of their own."""
        for text in decoded(raw):
            for message in from_json_log(text if text.startswith("{") else clean(text).text):
                self.line(message)


def _relevant(piece: bytes, pairs: list[tuple[bytes, str]]) -> Iterator[tuple[bytes, list[str]]]:
    """The lines with a keyword in them, in order, each with its keywords."""
    found: dict[int, tuple[int, list[str]]] = {}
    padded = b"\n" + piece
    for needle, keyword in pairs:
        at = padded.find(needle)
        while at >= 0:
            start = padded.rfind(b"\n", 0, at) + 1
            known = found.get(start)
            if known is None:
                end = padded.find(b"\n", at)
                end = len(padded) if end < 0 else end
                found[start] = (end, [keyword])
            else:
                end = known[0]
                known[1].append(keyword)
            at = padded.find(needle, end)
    for start in sorted(found):
        end, keywords = found[start]
        yield padded[start:end], keywords
