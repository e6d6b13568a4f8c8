"""Prometheus text of llama.cpp (`llamacpp:`) and vLLM (`vllm:`): counters per process, so a run's own part is a difference.

Names are matched whole, because the per-position series repeats the beginning of the total's name. `_created` series are clock times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from core.formats.lines import Line, clean
from core.formats.numbers import kept, number, ratio

Metrics = dict[str, "float | dict[str, float]"]
_SAMPLE = re.compile(r"(?:^|\s)(llamacpp|vllm):([A-Za-z_]{1,128})(\{[^{}]{0,4096}\})?(?: \|)?\s+(\S{1,40})")
_LABEL = re.compile(r'(\w{1,64})="([^"]{0,256})"')
_KEPT_LABELS = ("engine", "position")
_TOTALS = {
    "spec_decode_num_draft_tokens_total": "drafted",
    "spec_decode_num_accepted_tokens_total": "accepted",
    "spec_decode_num_drafts_total": "drafts",
    "prompt_tokens_total": "prompt_n",
    "tokens_predicted_total": "predicted_n",
    "generation_tokens_total": "predicted_n",
}
_SECONDS = {"prompt_seconds_total": "prompt_ms", "tokens_predicted_seconds_total": "predicted_ms"}
_PER_POS = "spec_decode_num_accepted_tokens_per_pos_total"


def parse_sample(line: str) -> tuple[str, str, float | None] | None:
    """(series name, its labels as printed, value or None) of one sample line; None for other lines."""
    found = _SAMPLE.search(line)
    if found is None or line.lstrip().startswith("#"):
        return None
    return found[2], found[3] or "", number(found[4])


def kept_labels(labels: str) -> str:
    """`engine=…,position=…` of a label list: what a figure is told apart by; host and model names are not."""
    known = dict(_LABEL.findall(labels)[:64])
    return ",".join(f"{key}={known[key]}" for key in _KEPT_LABELS if key in known)


class MetricsFacts:
    """Collects samples. A series that comes twice begins the next reading of the same process; the first and the last are kept."""

    def __init__(self) -> None:
        self.first: Metrics | None = None
        self.current: Metrics = {}
        self.readings = 1
        self._seen: set[tuple[str, str]] = set()

    def handlers(self) -> dict[str, str]:
        """Keyword in a line -> name of the method that reads such lines."""
        return {"llamacpp:": "on_sample", "vllm:": "on_sample"}

    def on_sample(self, line: Line) -> None:
        """One sample line."""
        sample = parse_sample(line.text)
        if sample is None:
            return
        if sample[:2] in self._seen:
            self.first = self.first if self.first is not None else self.current
            self.readings += 1
            self.current, self._seen = {}, set()
        if len(self._seen) < 20_000:
            self._seen.add(sample[:2])
            self._add(*sample)

    def _add(self, name: str, labels: str, value: float | None) -> None:
        out = self.current
        if value is None or not (name in _TOTALS or name in _SECONDS or name == _PER_POS):
            out["series_ignored"] = _plain(out.get("series_ignored")) + 1
            return
        out.setdefault("series_ignored", 0.0)
        if name == _PER_POS:
            positions = out.setdefault("accepted_per_pos", {})
            if isinstance(positions, dict):
                positions[kept_labels(labels)] = positions.get(kept_labels(labels), 0.0) + value
        else:
            key = _TOTALS.get(name) or _SECONDS[name]
            out[key] = _plain(out.get(key)) + value * (1000 if name in _SECONDS else 1)

    def result(self) -> Metrics:
        """The last reading, or what was counted between the first and the last."""
        return self.current if self.first is None else difference(self.first, self.current)


def _plain(value: object) -> float:
    return value if isinstance(value, float) else 0.0


def collect(lines: Iterable[str]) -> MetricsFacts:
    """Reads sample lines, prefixes allowed."""
    facts = MetricsFacts()
    for line in lines:
        facts.on_sample(clean(line))
    return facts


def read_metrics(text: str) -> Metrics:
    """The counters of one reading: `drafted, accepted, drafts, prompt_n, predicted_n` (counts), `prompt_ms, predicted_ms` (ms),
    `accepted_per_pos` (label to count), `series_ignored`. Empty where the text holds no such series."""
    return collect(text.splitlines()).result()


def difference(before: Metrics, after: Metrics) -> Metrics:
    """What was counted between two readings of one process. A key is left out where a counter went down or is missing after.

    A counter missing before counts from 0: speculative series appear only with the first finished speculative request.
    """
    out: Metrics = {}
    for key, value in after.items():
        earlier = before.get(key)
        if key == "series_ignored":
            out[key] = value
        elif isinstance(value, dict):
            old = earlier if isinstance(earlier, dict) else {}
            out[key] = {label: n - old.get(label, 0.0) for label, n in value.items() if n >= old.get(label, 0.0)}
        else:
            delta = value - (earlier if isinstance(earlier, float) else 0.0)
            if delta >= 0:
                out[key] = delta
    return out


def _whole(value: object) -> float | int | None:
    """A counter as the whole number it is; None where it was not printed."""
    if not isinstance(value, float):
        return None
    return int(value) if value.is_integer() else value


def values_of(metrics: Metrics) -> dict[str, object]:
    """The keys of kind `metrics`; null where a series is missing. Mean length and rates divide by verified drafts."""
    accepted, drafted, drafts = (_number(metrics, key) for key in ("accepted", "drafted", "drafts"))
    labelled = metrics.get("accepted_per_pos")
    positions = labelled if isinstance(labelled, dict) else {}
    share = ratio(accepted, drafts)
    return {
        "accepted": _whole(metrics.get("accepted")),
        "drafted": _whole(metrics.get("drafted")),
        "drafts": _whole(metrics.get("drafts")),
        "accept_share": kept(ratio(accepted, drafted)),
        "accepted_per_pos": {label: _whole(n) for label, n in positions.items()} or None,
        "mean_len": kept(None if share is None else 1 + share),
        "per_pos": _per_pos(positions, drafts),
        "predicted_ms": kept(_number(metrics, "predicted_ms")),
        "predicted_n": _whole(metrics.get("predicted_n")),
        "prompt_ms": kept(_number(metrics, "prompt_ms")),
        "prompt_n": _whole(metrics.get("prompt_n")),
        "series_ignored": _whole(metrics.get("series_ignored")),
    }


def _number(metrics: Metrics, key: str) -> float | None:
    """A plain counter; None where missing."""
    value = metrics.get(key)
    return value if isinstance(value, float) else None


def _per_pos(positions: dict[str, float], drafts: float | None) -> list[float] | None:
    """Rates by position, engines pooled; None without the number of drafts."""
    pooled: dict[int, float] = {}
    for label, value in positions.items():
        place = label.rpartition("position=")[2]
        if place.isdigit() and len(place) < 5:
            pooled[int(place)] = pooled.get(int(place), 0.0) + value
    if not drafts or not pooled:
        return None
    return [round(pooled.get(i, 0.0) / drafts, 6) for i in range(min(max(pooled) + 1, 4096))]


def warnings_of(metrics: Metrics) -> list[str]:
    """At most one sentence: the first sign that the counters were misread or belong to two processes."""
    accepted, drafted, drafts = (_number(metrics, key) for key in ("accepted", "drafted", "drafts"))
    if accepted is not None and drafted is not None and accepted > drafted:
        return [f"More draft tokens accepted ({accepted:.0f}) than drafted ({drafted:.0f})."]
    if drafts is not None and drafted is not None and drafts > drafted:
        return [f"More drafts ({drafts:.0f}) than draft tokens ({drafted:.0f})."]
    labelled = metrics.get("accepted_per_pos")
    if accepted is not None and isinstance(labelled, dict) and labelled and abs(sum(labelled.values()) - accepted) > 0.5:
        return ["The accepted tokens by position do not add up to the total."]
    return []
