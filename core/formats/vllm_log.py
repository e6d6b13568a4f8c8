"""vLLM log lines: `Speculative metrics` (V0, 2024) and `SpecDecoding metrics` (V1), one per engine and window of about 10 s.

Acceptance is accepted over drafted tokens; the length is 1 + accepted / drafts. Windows are pooled by summing counts.
"""

from __future__ import annotations

import re
from typing import Any

from core.formats.checks import rises
from core.formats.lines import Line
from core.formats.numbers import count, kept, number, numbers, percent, ratio

_ENGINE = re.compile(r"Engine (\d{1,4}): .{0,200}?Avg generation throughput: ([\d.]+) tokens/s")
_LOAD = re.compile(r"(Running|Waiting|Pending): (\d+) reqs")
_PID = re.compile(r"pid=(\d{1,9})\)")
_V1 = {
    "accepted": re.compile(r"Accepted: (\d+) tokens"),
    "drafted": re.compile(r"Drafted: (\d+) tokens"),
    "mean_len": re.compile(r"Mean acceptance length: ([\d.]+)"),
    "drafted_per_s": re.compile(r"Drafted throughput: ([\d.]+) tokens/s"),
    "share_printed": re.compile(r"Draft acceptance rate: ([\d.]+)%"),
}
_PER_POS = re.compile(r"Per-position acceptance rate: ([\d., ]{1,2000})")
_V0 = re.compile(
    r"Speculative metrics: Draft acceptance rate: ([\d.]+|nan), System efficiency: ([\d.]+|nan), Number of speculative tokens: (\d+), "
    r"Number of accepted tokens: (\d+), Number of draft tokens: (\d+), Number of emitted tokens: (\d+)"
)


class VllmFacts:
    """Collects windows by engine."""

    def __init__(self) -> None:
        self.engines: dict[str, list[dict[str, Any]]] = {}
        self.windows = 0
        self.loads: dict[str, dict[str, float]] = {}
        self.v0: dict[str, Any] | None = None
        self.v0_lines = 0
        self._by_pid: dict[str, str] = {}
        self._last = "0"

    def handlers(self) -> dict[str, str]:
        """Keyword in a line -> name of the method that reads such lines."""
        return {"Speculative metrics": "on_v0", "SpecDecoding": "on_window", "generation throughput": "on_engine"}

    def on_engine(self, line: Line) -> None:
        """The line that names an engine; the window after it, of the same process, is that engine's."""
        found = _ENGINE.search(line.text)
        if found is None:
            return
        self._last = str(int(found[1]))
        pid = _PID.search(line.text)
        if pid and len(self._by_pid) < 1024:
            self._by_pid[pid[1]] = self._last
        load = self.loads.setdefault(self._last, {"lines": 0.0, "gen_tps": 0.0}) if len(self.loads) < 1024 else {}
        load["lines"] = load.get("lines", 0.0) + 1
        load["gen_tps"] = load.get("gen_tps", 0.0) + (number(found[2]) or 0.0)
        for name, value in _LOAD.findall(line.text):
            load[name.lower()] = float(value[:12])

    def on_window(self, line: Line) -> None:
        """One window of one engine."""
        window: dict[str, Any] = {key: number(found[1]) if (found := form.search(line.text)) else None for key, form in _V1.items()}
        if window["accepted"] is None or window["drafted"] is None:
            return
        rates = _PER_POS.search(line.text)
        window["per_pos"] = numbers(rates[1].strip(" ,")) if rates else []
        pid = _PID.search(line.text)
        engine = self._by_pid.get(pid[1], self._last) if pid else self._last
        self.windows += 1
        if len(self.engines.setdefault(engine, [])) < 20_000 // max(1, len(self.engines)):
            self.engines[engine].append(window)

    def on_v0(self, line: Line) -> None:
        """The line of 2024: counts since the start."""
        found = _V0.search(line.text)
        if found is None or any(count(text) is None for text in found.groups()[2:]):
            return
        self.v0_lines += 1
        names = ("accept_share", "efficiency", "n_max", "accepted", "drafted", "emitted")
        values = (number(found[1]), number(found[2]), *(count(text) for text in found.groups()[2:]))
        self.v0 = dict(zip(names, values, strict=True))

    @property
    def found(self) -> bool:
        """Whether a speculative line or an engine line was read."""
        return bool(self.windows or self.v0 or self.loads)

    def result(self) -> dict[str, Any]:
        """The keys of kind `vllm`."""
        out: dict[str, Any] = {
            "gen_tps": {engine: kept(load["gen_tps"] / load["lines"]) for engine, load in self.loads.items()} or None,
            "running": {engine: int(load["running"]) for engine, load in self.loads.items() if "running" in load} or None,
            "waiting": {engine: int(load["waiting"]) for engine, load in self.loads.items() if "waiting" in load} or None,
            "windows": self.windows or self.v0_lines or None,
        }
        if self.v0:
            drafts = ratio(self.v0["drafted"], self.v0["n_max"])
            steps = int(drafts) if drafts is not None and drafts == int(drafts) else None
            out.update(self.v0, steps=steps, a=kept(ratio(self.v0["emitted"], steps)))
        elif self.windows:
            out.update(self._pooled())
        return out

    def _pooled(self) -> dict[str, Any]:
        engines = {engine: _pool(windows) for engine, windows in self.engines.items()}
        every = _pool([window for windows in self.engines.values() for window in windows])
        spans = [s for windows in self.engines.values() for w in windows if (s := ratio(w["drafted"], w["drafted_per_s"])) is not None]
        keys = ("accepted", "drafted", "accept_share", "mean_len")
        lengths = {len(window["per_pos"]) for windows in self.engines.values() for window in windows if window["per_pos"]}
        return {
            "engines": engines,
            "pooled": {key: every[key] for key in keys},
            "accepted": every["accepted"],
            "drafted": every["drafted"],
            "accept_share": every["accept_share"],
            "steps": every["drafts"],
            "a": every["mean_len"],
            "n_max": lengths.pop() if len(lengths) == 1 else None,
            "window_s": round(sum(spans) / len(spans), 2) if spans else None,
        }

    def warnings(self) -> list[str]:
        """The first check that fails, per line form."""
        if self.v0 and self.v0["accepted"] > self.v0["drafted"]:
            return [f"More draft tokens accepted ({self.v0['accepted']}) than drafted ({self.v0['drafted']})."]
        if self.v0 and self.v0["drafted"] and self.v0["accept_share"] is not None:
            share = self.v0["accepted"] / self.v0["drafted"]
            if abs(share - self.v0["accept_share"]) > 0.0011:
                return [f"The printed acceptance {self.v0['accept_share']} is not accepted over drafted ({share:.3f})."]
            drafts = ratio(self.v0["drafted"], self.v0["n_max"])
            if drafts is not None and self.v0["efficiency"] is not None:
                efficiency = self.v0["emitted"] / (drafts * (self.v0["n_max"] + 1))
                if abs(efficiency - self.v0["efficiency"]) > 0.0011:
                    return [f"The printed efficiency {self.v0['efficiency']} is not emitted over possible tokens ({efficiency:.3f})."]
        found = (_window_warning(window) for windows in self.engines.values() for window in windows)
        return list(dict.fromkeys(warning for warning in found if warning))[:20]


def _drafts(window: dict[str, Any]) -> float | None:
    """Drafts of one window: drafted / positions, else from the printed mean length."""
    if window["per_pos"]:
        return float(window["drafted"]) / len(window["per_pos"])
    length = window["mean_len"]
    return round(window["accepted"] / (length - 1)) if length is not None and length > 1 else None


def _pool(windows: list[dict[str, Any]]) -> dict[str, Any]:
    """Sums of some windows, and rates from the sums; rates by position are weighted by drafts."""
    accepted, drafted = sum(int(w["accepted"]) for w in windows), sum(int(w["drafted"]) for w in windows)
    drafts = [_drafts(window) for window in windows]
    whole = sum(n for n in drafts if n is not None) if None not in drafts else None
    positions = max((len(window["per_pos"]) for window in windows), default=0)
    per_pos = None
    if positions and whole and all(len(window["per_pos"]) == positions for window in windows):
        per_pos = [
            round(sum(w["per_pos"][i] * (n or 0) for w, n in zip(windows, drafts, strict=True)) / whole, 6) for i in range(positions)
        ]
    share = ratio(accepted, whole)
    return {
        "drafts": int(whole) if whole is not None and whole == int(whole) else kept(whole),
        "drafted": drafted,
        "accepted": accepted,
        "accept_share": kept(ratio(accepted, drafted)),
        "mean_len": kept(1 + share) if share is not None else None,
        "per_pos": per_pos,
    }


def _window_warning(window: dict[str, Any]) -> str | None:
    accepted, drafted, rates = window["accepted"], window["drafted"], window["per_pos"]
    if accepted > drafted:
        return f"More draft tokens accepted ({accepted:.0f}) than drafted ({drafted:.0f})."
    share = percent(window["share_printed"])
    if share is not None and drafted and abs(accepted / drafted - share) > 0.0011:
        return f"The printed acceptance {share:.3f} is not accepted over drafted ({accepted / drafted:.3f})."
    if rises(rates):
        return "An acceptance rate per position rises, which unconditional rates cannot do."
    if rates and window["mean_len"] is not None and abs(sum(rates) - (window["mean_len"] - 1)) > 0.006 + 0.0006 * len(rates):
        return f"The rates per position add up to {sum(rates):.3f}, the mean length less one is {window['mean_len'] - 1:.2f}."
    return None
