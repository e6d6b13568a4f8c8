"""Tool suites as the worksheet and its gate see them: scores of both sides, each suite against its own noise band. Pure."""

from __future__ import annotations

from statistics import median
from typing import Any

LEAST_RUNS = 2
PASS, FAIL, OPEN = "pass", "fail", "missing"
Sides = list[dict[str, Any]]


def has_scores(*sides: Sides) -> bool:
    """Whether any suite of any side was scored by a run."""
    return any(one["scores"] for side in sides for one in side)


def suite_words(side: Sides) -> tuple[str, str]:
    """(state, text) of one side: “tool-calls: 40, 47”; a suite without a score says why and makes the side failed."""
    parts = [f"{one['suite']}: " + (", ".join(f"{score:g}" for score in one["scores"]) or one["reason"] or "not run") for one in side]
    return "ok" if all(one["scores"] for one in side) else "failed", "; ".join(parts)


def suite_gate(off: Sides, on: Sides) -> tuple[str, str]:
    """(state, what turns it to pass): every suite has two runs a side, and its median on is not below off by more than its band."""
    others = {one["suite"]: one for one in on}
    missing, worse = [], []
    for one in off:
        other = others.get(one["suite"], {"scores": [], "reason": "not run for this n_max"})
        if min(len(one["scores"]), len(other["scores"])) < LEAST_RUNS:
            why = one["reason"] or other["reason"]
            missing.append(f"Suite {one['suite']} needs {LEAST_RUNS} scored runs a side{f': {why}' if why else '.'}")
            continue
        low = median(one["scores"]) - one["band"]
        if median(other["scores"]) < low:
            worse.append(f"{one['suite']}: the candidate's median has to reach {low:g} (baseline − {one['band']:g}).")
    if worse:
        return FAIL, " ".join(worse)
    return (OPEN, " ".join(missing)) if missing else (PASS, "")
