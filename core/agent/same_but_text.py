"""Streamed events that differ from the one before in their text alone, told byte by byte: what stands around the text is the same.

Decoding such a line whole gives nothing that is not known already, and costs several times as much.
"""

from __future__ import annotations

import json
import re
from typing import Callable

_OPENS = re.compile(rb'"(?:reasoning_content|content|text)" ?: ?"')
_STRING = json.JSONDecoder().raw_decode
_MARK = "\u2020"
_MANY = 8  # lines learned in vain before it is left alone: an engine that puts figures into every event


class SameButText:
    """`learn` a line that was decoded whole; `text_of` a later one, where only the text differs."""

    def __init__(self) -> None:
        self._before = self._after = b""
        self._credit = _MANY

    def text_of(self, raw: bytes, at: int, close: int) -> str | None:
        """The text of the line from `at` to `close`; None where something else differs too, or may."""
        before, after = self._before, self._after
        if not before or not raw.startswith(before, at):
            return None
        begins, ends = at + len(before), close - len(after)
        if ends < begins or not raw.startswith(after, ends):
            return None
        try:
            quoted = raw[begins - 1 : ends + 1].decode("utf-8")
            text, length = _STRING(quoted)
        except ValueError:
            return None
        if length != len(quoted):
            return None
        self._credit += 1
        return str(text)

    def learn(self, line: bytes, text: str, text_of: Callable[[str], str]) -> None:
        """Takes the line as the pattern for those to come; `text`: what it said, "" when it may be none. `text_of` reads a whole event."""
        self._before = self._after = b""
        found = _OPENS.search(line) if text not in ("", _MARK) and self._credit > 0 else None
        if found is None:
            return
        self._credit -= 1
        begins = found.end()
        before, after = line[:begins], line[begins + _inside(line[begins:]) :]
        try:
            said = text_of((before[5:] + _MARK.encode("utf-8") + after).decode("utf-8").strip())
        except ValueError:
            return
        if said == _MARK:  # so what stands there is all that the event says
            self._before, self._after = before, after


def _inside(rest: bytes) -> int:
    """Bytes up to the quote that closes the string."""
    at = 0
    while rest[at : at + 1] not in (b'"', b""):
        at += 2 if rest[at : at + 1] == b"\\" else 1
    return at
