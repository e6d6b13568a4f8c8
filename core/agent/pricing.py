"""What the samples of a visit say about price: D + V by repetition, acceptance by position, D. Raw lines in, figures or nothing out.

Known to the rules of the sweep on the box itself; the app works out its own from the same raw lines.
"""

from __future__ import annotations

import re
from typing import Any

from core.domain.price import step_ms

_PER_POSITION = re.compile(r'^\w+:spec_decode_num_accepted_tokens_per_pos_total\{[^}]*position="(\d+)"[^}]*\} ([\d.eE+]+)$', re.MULTILINE)
_DRAFTS = re.compile(r"^\w+:spec_decode_num_drafts_total(?:\{[^}]*\})? ([\d.eE+]+)$", re.MULTILINE)
_RATES = re.compile(r"#acc rate/pos = \(([\d., ]+)\)")
_CALLS = re.compile(r"#calls\(b,g,a\) = +\d+ +(\d+) +\d+")
_DURATION = re.compile(r"dur\(b,g,a\) = +[\d.]+, +([\d.]+), +[\d.]+ ms")


def figures_of(samples: list[dict[str, Any]]) -> dict[str, Any]:
    """{step_ms: […], per_position: […], d_ms} of one visit's counted samples; empty or None above one stream and where unknown."""
    single = [item for item in samples if item["n_max"] and item["c"] == 1]
    costs = [cost for cost in map(_step_ms, single) if cost is not None]
    return {
        "step_ms": costs if len(costs) == len(single) else [],
        "per_position": per_position(single),
        "d_ms": draft_ms(single),
    }


def _step_ms(sample: dict[str, Any]) -> float | None:
    timings = sample["streams"][0]["timings"]
    if sample["accepted"] is None:
        return None
    return step_ms(timings["predicted_ms"], timings["predicted_n"], sample["accepted"])


def per_position(samples: list[dict[str, Any]]) -> list[float]:
    """P_i over all verified drafts of the samples, from /metrics; from the last statistics line where the engine has no such series."""
    counted: dict[int, float] = {}
    drafts = 0.0
    for sample in samples:
        drafts += _sum(_DRAFTS, sample["metrics_after"]) - _sum(_DRAFTS, sample["metrics_before"])
        for text, sign in ((sample["metrics_after"], 1.0), (sample["metrics_before"], -1.0)):
            for place, count in _PER_POSITION.findall(text):
                counted[int(place)] = counted.get(int(place), 0.0) + sign * float(count)
    if drafts > 0 and counted:
        return [min(1.0, max(0.0, counted.get(place, 0.0) / drafts)) for place in range(max(counted) + 1)]
    printed = _RATES.findall(samples[-1]["statistics_line"]) if samples else []
    return [float(rate) for rate in printed[-1].split(",") if rate.strip()] if printed else []


def _sum(series: re.Pattern[str], text: str) -> float:
    return sum(float(value) for value in series.findall(text))


def draft_ms(samples: list[dict[str, Any]]) -> float | None:
    """D: draft time ÷ draft calls between the first and the last statistics line; None where no times are printed."""
    lines = [item for item in samples if item["statistics_line"]]
    if not lines:
        return None
    before, after = lines[0]["statistics_before"], lines[-1]["statistics_line"]
    calls = _sum(_CALLS, after) - _sum(_CALLS, before)
    took = _sum(_DURATION, after) - _sum(_DURATION, before)
    return took / calls if calls > 0 and took > 0 and _DURATION.search(after) else None
