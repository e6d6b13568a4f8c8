"""SGLang `Decode batch` lines. Accept length counts the target's token; what `accept rate` divides by changed between 2025 and 2026.

Oct 2025: length / draft tokens (counts the bonus token). 2026: (length - 1) / (budget - 1). Which one a log has is read from its numbers.
"""

from __future__ import annotations

import re
import statistics as stats
from typing import Any

from core.formats.lines import Line
from core.formats.numbers import kept, number

KEPT = 50_000
STARTUP = 0.2  # a first window far below the others counts the time since the server started
_LINE = re.compile(r"Decode batch[.,]")
_FIGURES = {
    "running": re.compile(r"#running-req: (\d+)"),
    "accept_len": re.compile(r"accept len: ([\d.]+)"),
    "accept_rate": re.compile(r"accept rate: ([\d.]+)"),
    "gen_tps": re.compile(r"gen throughput \(token/s\): ([\d.]+)"),
}
_SERVER_INFO = re.compile(r'"?avg_spec_accept_length"?[:=] ?([\d.]+)')
_BUDGETS = range(2, 65)


class SglangFacts:
    """Collects decode windows."""

    def __init__(self) -> None:
        self.windows: list[dict[str, float | None]] = []
        self.started = False
        self.average: float | None = None

    def handlers(self) -> dict[str, str]:
        """Keyword in a line -> name of the method that reads such lines."""
        return {"Decode batch": "on_window", "fired up": "on_start", "avg_spec_accept_length": "on_info"}

    def on_window(self, line: Line) -> None:
        """One `Decode batch` line."""
        if _LINE.search(line.text) and len(self.windows) < KEPT:
            found = {key: form.search(line.text) for key, form in _FIGURES.items()}
            self.windows.append({key: number(match[1]) if match else None for key, match in found.items()})

    def on_start(self, line: Line) -> None:
        """The server says that it is up: the next window is warm-up."""
        self.started = self.started or not self.windows

    def on_info(self, line: Line) -> None:
        """Server info: accept length since the start."""
        found = _SERVER_INFO.search(line.text)
        if found:
            self.average = number(found[1])

    def _counted(self) -> list[dict[str, float | None]]:
        """The windows without a first one that holds the start."""
        if len(self.windows) < 2:
            return self.windows
        first, rest = self.windows[0]["gen_tps"], [w["gen_tps"] for w in self.windows[1:] if w["gen_tps"] is not None]
        slow = first is not None and rest and first < STARTUP * stats.median(rest)
        return self.windows[1:] if slow or self.started else self.windows

    def result(self) -> dict[str, Any]:
        """The keys of kind `sglang`; means over the windows that count."""
        counted = self._counted()
        length = _mean([window["accept_len"] for window in counted])
        length = length if length is not None else self.average
        bonus, plain = _budgets(counted, 0.0), _budgets(counted, 1.0)
        share = None
        if bonus and not plain and length is not None and len(bonus) == 1:
            share = (length - 1) / (bonus[0] - 1)
        elif plain and not bonus:
            share = _mean([window["accept_rate"] for window in counted])
        only = bonus if bonus and not plain else plain if plain and not bonus else []
        running = [window["running"] for window in counted if window["running"] is not None]
        return {
            "windows": len(counted) or None,
            "startup_windows_dropped": len(self.windows) - len(counted),
            "accept_len": kept(length),
            "a": kept(length),
            "accept_rate_printed": kept(_mean([window["accept_rate"] for window in counted])),
            "accept_share": kept(share),
            "draft_tokens_inferred": only[0] if len(only) == 1 else None,
            "gen_tps": kept(_mean([window["gen_tps"] for window in counted])),
            "running": int(max(running)) if running else None,
        }

    def warnings(self) -> list[str]:
        """A length below 1 or a rate above 1 cannot be."""
        for window in self.windows:
            if window["accept_len"] is not None and 0 < window["accept_len"] < 1:
                return [f"An accept length of {window['accept_len']} is below 1: a step always commits the target's token."]
            if window["accept_rate"] is not None and window["accept_rate"] > 1:
                return [f"An accept rate of {window['accept_rate']} is above 1."]
        return []


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _budgets(windows: list[dict[str, float | None]], less: float) -> list[int]:
    """Numbers of draft tokens k for which (length - less) / (k - less) gives every printed rate, within rounding."""
    pairs = [(w["accept_len"], w["accept_rate"]) for w in windows if w["accept_len"] and w["accept_rate"]]
    if not pairs:
        return []
    fitting = []
    for k in _BUDGETS:
        if all(
            abs((length - less) / (k - less) - rate) <= 0.0052 + 0.0052 / (k - less) for length, rate in pairs[:1000] if length and rate
        ):
            fitting.append(k)
    return fitting
