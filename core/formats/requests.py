"""The lines a server prints per request: prompt, eval and total time, draft acceptance, per-position rates, and what came before and after.

One request may stand on tagged lines, on untagged continuation lines, or on both; progress lines are never results.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from core.formats.lines import SLOT, Line
from core.formats.numbers import count, number, numbers
from core.formats.statistics import SpecStatistics, parse_statistics

KEPT = 50_000  # requests whose figures are kept, which bounds memory; what comes after is counted and named in a warning
RATES_KEPT = 2_000
_TIME = re.compile(
    r"(prompt eval|generation eval|eval|total) time *= *([\d.]+) ms(?: */ *(\d+) (?:tokens|runs))?"
    r"(?: *\( *([\d.]+) ms per token, *([\d.]+|inf|nan) tokens per second\))?"
)
_DRAFT = re.compile(
    r"draft acceptance(?: rate)? = ([\d.]+) \( *(\d+) accepted / *(\d+) generated\)"
    r"(?:, mean (?:acceptance length|len) = +([\d.]+))?(?:, acceptance rate per position = \(([^)]*)\))?"
)
_PER_POS = re.compile(r"acc per pos = \(([^)]*)\)")
_RELEASE = re.compile(r"n_tokens = (\d+), truncated = (\d)")
_PROGRESS = re.compile(r"prompt processing(?: progress)?, n_tokens *= *(\d+).{0,64}?progress *= *([\d.]+)")
_TRACE = re.compile(r"llama_(?:perf_context_print|print_timings)|common_perf_print")


@dataclass(slots=True)
class Request:
    """One request as printed; counts in tokens, times in ms, None where the line is missing."""

    tag: tuple[str, str] | None = None
    stamp_s: float | None = None
    prompt_n: int | None = None
    prompt_ms: float | None = None
    predicted_n: int | None = None
    predicted_ms: float | None = None
    tps_printed: float | None = None
    total_ms: float | None = None
    total_tokens: int | None = None
    accepted: int | None = None
    drafted: int | None = None
    share_printed: float | None = None
    mean_len: float | None = None
    per_pos: tuple[float, ...] = ()
    truncated: bool | None = None
    n_tokens: int | None = None
    arm: int = 0


class RequestFacts:
    """Collects requests and statistics lines, in order."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.statistics: dict[str, SpecStatistics] = {}
        self.first_statistics: dict[str, SpecStatistics] = {}
        self.statistics_lines = 0
        self.prompt_progress: float | None = None
        self.prompt_tokens_done: int | None = None
        self.trace = Request()
        self.dropped = 0
        self.arm = 0
        self._stamp: float | None = None
        self._current: Request | None = None

    def handlers(self) -> dict[str, str]:
        """Keyword in a line -> name of the method that reads such lines."""
        return {
            "l time": "on_time",
            "ccept": "on_draft",
            "#calls": "on_statistics",
            "pos = (": "on_positions",
            "truncated": "on_release",
            "progress =": "on_progress",
        }

    def _request(self, line: Line, taken: str) -> Request:
        """The request a line belongs to; a new one where the tag differs or the figure is there already."""
        found = SLOT.match(line.text) or (SLOT.search(line.text) if " | task " in line.text else None)
        tag = found.groups() if found else None
        now = self._current
        if now is None or getattr(now, taken) is not None or (tag is not None and now.tag is not None and tag != now.tag):
            now = self._open(line)
        if tag is not None:
            now.tag = (tag[0], tag[1])
        return now

    def _open(self, line: Line) -> Request:
        stamp = line.stamp_s
        if stamp is not None:
            if self._stamp is not None and stamp + 1.0 < self._stamp:
                self.arm += 1  # the clock starts at log start: going back means another server
            self._stamp = stamp
        self._current = Request(stamp_s=stamp, arm=self.arm)
        if len(self.requests) < KEPT:
            self.requests.append(self._current)
        else:
            self.dropped += 1
        return self._current

    def on_time(self, line: Line) -> None:
        """`prompt eval time`, `eval time`, `total time`; the tools' own summaries are not a server's."""
        found = _TIME.search(line.text, max(0, line.text.find("l time") - 16))
        if found is None:
            return
        what, ms, tokens, rate = found[1], number(found[2]), count(found[3]), number(found[5])
        if _TRACE.search(line.text, 0, max(0, found.start())):
            self._on_trace(what, ms, tokens, rate)
            return
        if what == "prompt eval":
            request = self._request(line, "prompt_ms")
            request.prompt_ms, request.prompt_n = ms, tokens
        elif what == "total":
            request = self._request(line, "total_ms")
            request.total_ms, request.total_tokens = ms, tokens
        else:
            request = self._request(line, "predicted_ms")
            request.predicted_ms, request.predicted_n, request.tps_printed = ms, tokens, rate

    def _on_trace(self, what: str, ms: float | None, tokens: int | None, rate: float | None) -> None:
        """The library's own summary at the end of a tool's run; a run decodes one token after the first."""
        trace = self.trace
        if what == "prompt eval":
            trace.prompt_ms, trace.prompt_n = ms, tokens
        elif what == "eval":
            trace.predicted_ms, trace.predicted_n, trace.tps_printed = ms, None if tokens is None else tokens + 1, rate

    def on_draft(self, line: Line) -> None:
        """`draft acceptance`, all eras: accepted over drafted tokens of this request."""
        found = _DRAFT.search(line.text)
        if found is None:
            return
        request = self._request(line, "drafted")
        request.share_printed, request.accepted, request.drafted = number(found[1]), count(found[2]), count(found[3])
        request.mean_len = number(found[4])
        request.per_pos = self._rates(found[5])

    def _rates(self, text: str | None) -> tuple[float, ...]:
        """Rates by position, which only the first requests of a long log keep: n-gram methods have dozens of them."""
        return tuple(numbers(text)) if text and len(self.requests) <= RATES_KEPT else ()

    def on_positions(self, line: Line) -> None:
        """The per-position rates on a line of their own."""
        found = _PER_POS.search(line.text)
        if found and self._current is not None:
            self._current.per_pos = self._rates(found[1])

    def on_statistics(self, line: Line) -> None:
        """`statistics`: since the server started; kept beside the request, never mixed with it."""
        entry = parse_statistics(line.text)
        if entry is None or (entry.name not in self.statistics and len(self.statistics) >= 64):
            return
        self.statistics_lines += 1
        self.first_statistics.setdefault(entry.name, entry)
        self.statistics[entry.name] = entry

    def on_release(self, line: Line) -> None:
        """`stop processing`: tokens in the slot and whether the context was cut."""
        found = _RELEASE.search(line.text)
        if found and self._current is not None:
            self._current.n_tokens, self._current.truncated = count(found[1]), found[2] != "0"

    def on_progress(self, line: Line) -> None:
        """How far a prompt had come."""
        found = _PROGRESS.search(line.text)
        if found:
            self.prompt_tokens_done, self.prompt_progress = count(found[1]), number(found[2])
