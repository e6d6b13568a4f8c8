"""JSON documents as tools leave them: whole, cut in the middle, several in a row, one per line. What is there is read."""

from __future__ import annotations

import json
from typing import Any

LARGEST = 2 * 1024 * 1024  # characters of a document that are read: nested small objects take forty times their text
_SKIPS = 16  # attempts to find the next document after garbage, which keeps the time linear
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)


def _space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at


def _value(text: str, at: int) -> tuple[Any, int] | None:
    """One value from `at`; None where it is broken or too deep."""
    try:
        value, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None
    return value, end


def _elements(text: str, at: int) -> tuple[list[Any], int, bool]:
    """The elements of an array that cannot be read as a whole: (elements, end, closed)."""
    out: list[Any] = []
    at = _space(text, at + 1)
    while at < len(text):
        if text[at] == "]":
            return out, at + 1, True
        found = _value(text, at)
        if found is None:
            if text[at] == "{":
                partial = _pairs(text, at)
                if partial and "avg_ts" in partial:
                    out.append(partial)
            break
        out.append(found[0])
        at = _space(text, found[1])
    return out, len(text), False


def _pairs(text: str, at: int) -> dict[str, Any]:
    """The leading pairs of an object that is cut."""
    out: dict[str, Any] = {}
    at = _space(text, at + 1)
    while at < len(text) and text[at] == '"':
        key = _value(text, at)
        if key is None:
            break
        colon = _space(text, key[1])
        if colon >= len(text) or text[colon] != ":":
            break
        value = _value(text, _space(text, colon + 1))
        if value is None:
            break
        out[str(key[0])] = value[0]
        at = _space(text, value[1])
    return out


def documents(text: str) -> tuple[list[Any], bool]:
    """(objects in order, whether all of it was whole). Arrays are opened: their elements count as objects of their own."""
    out: list[Any] = []
    whole, skips = True, 0
    at = _space(text, 0)
    while at < len(text) and skips < _SKIPS:
        found = _value(text, at) if text[at] in "[{" else None
        if found is not None:
            out += found[0] if isinstance(found[0], list) else [found[0]]
            at = _space(text, found[1])
            continue
        if text[at] == "[":
            elements, end, closed = _elements(text, at)
            if elements:
                out += elements
                whole, at = whole and closed, _space(text, end)
                continue
        elif text[at] == "{":
            pairs = _pairs(text, at)
            if pairs:
                out.append(pairs)
            whole = False
        skips += 1
        at = _next(text, at + 1)
    return out, whole


def _next(text: str, at: int) -> int:
    """Where the next document may begin: a bracket at the beginning of a line."""
    places = [place for mark in ("\n{", "\n[") if (place := text.find(mark, at - 1)) >= 0]
    return min(places) + 1 if places else len(text)
