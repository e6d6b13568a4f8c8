"""The `statistics` lines of a server: what each drafting method did since the server started, all requests and clients together.

b = requests begun, g = draft calls, a = verified drafts. The figures only ever grow: a run's own part is a difference of two lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from core.formats.lines import unwrapped
from core.formats.numbers import count, number, numbers, ratio

_LINE = re.compile(
    r"statistics +(\S{1,64}): #calls\(b,g,a\) = +(\d+) +(\d+) +(\d+), #gen drafts = +(\d+), #acc drafts = +(\d+), "
    r"#gen tokens = +(\d+), #acc tokens = +(\d+)"
    r"(?:, #mean acc len = +([\d.]+), #acc rate/pos = \(([^)]*)\))?"
    r"(?:, dur\(b,g,a\) = +([\d.]+), +([\d.]+), +([\d.]+) ms)?"
)
_FIELDS = ("calls_b", "calls_g", "calls_a", "gen_drafts", "acc_drafts", "gen_tokens", "acc_tokens")


@dataclass(frozen=True)
class SpecStatistics:
    """One line, or the difference of two. Counts; `dur_…_ms` in ms, None where not printed.

    `mean_len` and `per_pos` divide by verified drafts and are cumulative; a difference has no `per_pos`.
    """

    name: str
    calls_b: int
    calls_g: int
    calls_a: int
    gen_drafts: int
    acc_drafts: int
    gen_tokens: int
    acc_tokens: int
    mean_len: float | None = None
    per_pos: tuple[float, ...] = ()
    dur_b: float | None = None
    dur_g: float | None = None
    dur_a: float | None = None

    @property
    def D_ms(self) -> float | None:  # noqa: N802 - the name of the quantity everywhere in the product
        """Draft time / draft calls, ms; None where the times are not printed or nothing was called."""
        return ratio(self.dur_g, self.calls_g)

    @property
    def accept_share(self) -> float | None:
        """Accepted / drafted tokens, 0-1."""
        return ratio(self.acc_tokens, self.gen_tokens)


def parse_statistics(line: str) -> SpecStatistics | None:
    """One printed line, prefixes allowed; None where it is no such line or a count is out of bounds."""
    found = _LINE.search(line)
    if found is None:
        return None
    counts = [count(text) for text in found.group(2, 3, 4, 5, 6, 7, 8)]
    if any(value is None for value in counts):
        return None
    durations = [number(text) for text in found.group(11, 12, 13)]
    known = dict(zip(_FIELDS, (value or 0 for value in counts), strict=True))
    dur_b, dur_g, dur_a = durations
    per_pos = tuple(numbers(found[10] or ""))
    return SpecStatistics(name=found[1], **known, mean_len=number(found[9]), per_pos=per_pos, dur_b=dur_b, dur_g=dur_g, dur_a=dur_a)


def read_statistics(lines: Iterable[str]) -> list[SpecStatistics]:
    """Every `statistics` line, in order, as printed (cumulative since the server started)."""
    found = (parse_statistics(unwrapped(line)) for line in lines if "#calls" in line)
    return [entry for entry in found if entry is not None]


def difference(before: SpecStatistics | None, after: SpecStatistics) -> SpecStatistics | None:
    """What happened between two lines of one drafting method; `before` None means since the start.

    None where a counter went down (the server was restarted in between) or the names differ. Times unknown in one stay unknown.
    """
    if before is None:
        return after
    deltas = [getattr(after, field) - getattr(before, field) for field in _FIELDS]
    if before.name != after.name or any(delta < 0 for delta in deltas):
        return None
    verified, accepted = deltas[2], deltas[6]
    return SpecStatistics(
        name=after.name,
        **dict(zip(_FIELDS, deltas, strict=True)),
        mean_len=1 + accepted / verified if verified else None,
        dur_b=_minus(after.dur_b, before.dur_b),
        dur_g=_minus(after.dur_g, before.dur_g),
        dur_a=_minus(after.dur_a, before.dur_a),
    )


def _minus(after: float | None, before: float | None) -> float | None:
    """after - before; None where one is unknown or time ran backwards."""
    if after is None or before is None or after < before:
        return None
    return round(after - before, 6)


def last_by_name(entries: Iterable[SpecStatistics]) -> dict[str, SpecStatistics]:
    """The newest line of each drafting method."""
    return {entry.name: entry for entry in entries}


def warnings_of(entry: SpecStatistics) -> list[str]:
    """At most one sentence: the first sign that the line was misread."""
    if entry.acc_tokens > entry.gen_tokens:
        return [f"statistics {entry.name}: more tokens accepted ({entry.acc_tokens}) than drafted ({entry.gen_tokens})."]
    if entry.acc_drafts > entry.gen_drafts:
        return [f"statistics {entry.name}: more drafts accepted ({entry.acc_drafts}) than made ({entry.gen_drafts})."]
    if entry.calls_a > entry.calls_g:
        return [f"statistics {entry.name}: more drafts verified ({entry.calls_a}) than draft calls ({entry.calls_g})."]
    if (
        entry.mean_len is not None
        and entry.per_pos
        and abs(sum(entry.per_pos) - (entry.mean_len - 1)) > 0.006 + 0.0006 * len(entry.per_pos)
    ):
        return [f"statistics {entry.name}: the per-position rates do not add up to the mean length less one."]
    return []
