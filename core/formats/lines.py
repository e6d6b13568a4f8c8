"""From raw bytes to message lines: cutting, capping, decoding and taking off every known prefix, one pass, memory bounded.

Prefix layers (each optional, in this order): terminal colours, journald, compose, llama-swap, router port, glued progress signs,
the engine's own stamp and level, subsystem and function name, slot ids. `--log-jsonl` lines are turned into stamped lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

LONGEST_LINE = 16 * 1024  # bytes kept of one line: the longest real one (48 positions twice) has about 1 KB
CHUNK = 64 * 1024  # stays in the processor's cache while it is searched for one keyword after another
MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")

ANSI = re.compile(r"\x1b\[[0-9;?]{0,32}[A-Za-z]")
JOURNAL = re.compile(r"^\w{3} [ \d]\d \d\d:\d\d:\d\d \S{1,255} \S{1,255}\[\d+\]: ")
COMPOSE = re.compile(r"^[^\s|]{1,128}-\d{1,9} {1,64}\| ?")
SWAP = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \[\w+\] \(\w+\) ")
ROUTER = re.compile(r"^\[\d{2,5}\] ")
PROGRESS = re.compile(r"^[./\\|~-]{1,4096}(?=[^\s./\\|~-])")
STAMP = re.compile(r"^(\d{1,9})\.(\d\d)\.(\d{3})\.(\d{3}) ([IWED]) ")
LEVEL = re.compile(r"^([IWED]) ")
OWN = re.compile(r"(\d{1,9})\.(\d\d)\.(\d{3})\.(\d{3}) ([IWED]) (?:srv|slot|cmn|spec|que) {1,16}[\w~()<>]{1,12}: +(?=[a-z])")
SUBSYSTEM = re.compile(r"^(?:srv|slot|cmn|spec|que) {1,16}[\w~()<>]{1,12}: ")
SLOT = re.compile(r"id +(\d+) \| task (-?\d+) \| ")
FOREIGN = re.compile(r"^time=\S{1,64} level=")
_LEVELS = {"error": "E", "warn": "W", "warning": "W", "debug": "D"}


class Line(NamedTuple):
    """One message without its prefixes; `level` one of I W E D, None where not printed; `stamp` the match of the engine's own stamp."""

    text: str
    stamp: re.Match[str] | None = None
    level: str | None = None

    @property
    def stamp_s(self) -> float | None:
        """Seconds since the log began (minutes do not wrap at 60); None where not printed."""
        stamp = self.stamp
        if stamp is None:
            return None
        return round(int(stamp[1]) * 60 + int(stamp[2]) + int(stamp[3]) / 1e3 + int(stamp[4]) / 1e6, 6)


def unwrapped(text: str) -> str:
    """Takes off what wrappers put before an engine's line; the engine's own stamp and tags stay."""
    if "\x1b" in text:
        text = ANSI.sub("", text)
    for layer in (JOURNAL, COMPOSE, SWAP, ROUTER):
        found = layer.match(text)
        if found:
            text = text[found.end() :]
    return text


def clean(text: str) -> Line:
    """Takes off all prefixes, the engine's own included; of two stamps (a log inside a log) the inner one counts."""
    own = OWN.match(text)
    if own and "\x1b" not in text:  # the common form of a server's line: nothing can stand before it
        return Line(text[own.end() :].strip(), own, own[5])
    stamp, level = None, None
    for _ in range(4):
        text = PROGRESS.sub("", unwrapped(text), count=1)
        found = STAMP.match(text)
        if found:
            stamp, level = found, found[5]
        else:
            found = LEVEL.match(text)
            level = found.group(1) if found else level
        if found is None:
            break
        text = text[found.end() :]
    # a glued spinner can stand behind the stamp as well
    text = PROGRESS.sub("", SUBSYSTEM.sub("", text, count=1), count=1)
    return Line(text.strip(), stamp, level)


def is_foreign(text: str) -> bool:
    """A line of another logger (`time=… level=…`) between the engine's own: to be dropped."""
    return text.startswith("time=") and FOREIGN.match(text) is not None


def from_json_log(text: str) -> list[str]:
    """The messages of one `--log-jsonl` line, each with the stamp and level that a text log would show; [] for other objects."""
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if not isinstance(entry, dict) or entry.get("type") != "log" or not isinstance(entry.get("msg"), str):
        return []
    level = _LEVELS.get(str(entry.get("level")), "I")
    micros = entry.get("time")
    head = f"{level} "
    if isinstance(micros, int) and 0 <= micros < 10**15:
        rest, micro = divmod(micros, 1000)
        rest, milli = divmod(rest, 1000)
        head = f"{rest // 60}.{rest % 60:02d}.{milli:03d}.{micro:03d} {level} "
    return [head + part for part in entry["msg"].split("\n") if part.strip()]


def chunks_of(data: bytes | Iterable[bytes]) -> Iterator[bytes]:
    """Pieces of at most CHUNK bytes without byte order mark and NULs (a UTF-16 log of plain text becomes readable by that)."""
    first = True
    for piece in (data,) if isinstance(data, (bytes, bytearray, memoryview)) else data:
        view = memoryview(piece)
        for start in range(0, len(view), CHUNK):
            part = bytes(view[start : start + CHUNK])
            if first:
                first = False
                for mark in MARKS:
                    part = part.removeprefix(mark)
            yield part.replace(b"\0", b"") if b"\0" in part else part


def whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Pieces that end with a line end; a line longer than LONGEST_LINE keeps its head only."""
    tail = b""
    for chunk in chunks:
        piece = tail + chunk
        cut = piece.rfind(b"\n") + 1
        if cut:
            yield piece[:cut]
        tail = piece[cut:]
        if len(tail) > 2 * LONGEST_LINE:
            tail = tail[: 2 * LONGEST_LINE]
    if tail:
        yield tail + b"\n"


def decoded(raw: bytes) -> Iterator[str]:
    """The lines inside one raw line (a carriage return starts a new one), invalid UTF-8 replaced, length capped."""
    text = raw[:LONGEST_LINE].decode("utf-8", "replace")
    if "\r" not in text:
        yield text
        return
    for part in text.split("\r"):
        if part:
            yield part


def lines_of(data: bytes | Iterable[bytes]) -> Iterator[str]:
    """All lines of an input, decoded and capped, in order, without line ends."""
    for piece in whole_lines(chunks_of(data)):
        for raw in piece[:-1].split(b"\n"):
            yield from decoded(raw)
