"""What a decision changed, in four deltas: quality, speed, fit, operations. Input is the entry's frozen evidence.

A delta is {name, before, after, change, state}: three texts, and ok or not_recorded. An old production recipe (weights and speculation
changed together) gets its own four, beside the priced change and never mixed with it.
"""

from __future__ import annotations

from statistics import median
from typing import Any

Delta = dict[str, str]
NAMES = ("quality", "speed", "fit", "operations")


def deltas_of(evidence: dict[str, Any]) -> list[Delta]:
    """Baseline against candidate, as priced."""
    off, on = (_scores(evidence, side) for side in ("baseline", "candidate"))
    before, after, where = _rates(evidence)
    return [
        _quality(off, on, _band(evidence)),
        _speed(before, after, where),
        _fit(_fit_text(evidence, "baseline"), _fit_text(evidence, "candidate")),
        _operations("", _typed(evidence, "failure_modes", "candidate")),
    ]


def deltas_against_old(old: dict[str, Any], evidence: dict[str, Any]) -> list[Delta]:
    """The old production recipe against the candidate: everything that changed at once."""
    _, after, where = _rates(evidence)
    low, high = old.get("tok_s_min"), old.get("tok_s_max")
    before = None if low is None else (low, high if high is not None else low)
    return [
        _quality(old.get("scores") or [], _scores(evidence, "candidate"), _band(evidence)),
        _speed(before, after, where),
        _fit(old.get("fit") or "", _fit_text(evidence, "candidate")),
        _operations(old.get("failure_modes") or "", _typed(evidence, "failure_modes", "candidate")),
    ]


def _typed(evidence: dict[str, Any], field: str, side: str) -> Any:
    return (evidence["typed"].get(f"{field}.{side}") or {}).get("value") or ""


def _scores(evidence: dict[str, Any], side: str) -> list[float]:
    """Scores of the runs' own suites where they were run, else the typed ones; several suites are one after the other."""
    own = [score for one in evidence[side].get("suites") or [] for score in one["scores"]]
    found = _typed(evidence, "suite", side)
    return own or (list(found["scores"]) if found else [])


def _band(evidence: dict[str, Any]) -> float | None:
    sides = ("baseline", "candidate")
    bands = [one["band"] for side in sides for one in evidence[side].get("suites") or [] if one["scores"]]
    bands = bands or [found["band"] for side in sides if (found := _typed(evidence, "suite", side))]
    return max(bands, default=None)


def _fit_text(evidence: dict[str, Any], side: str) -> str:
    placement = (evidence[side].get("placement") or {}).get("label") or ""
    return "; ".join(part for part in (placement, str(_typed(evidence, "fit", side))) if part)


def _rates(evidence: dict[str, Any]) -> tuple[tuple[float, float] | None, tuple[float, float] | None, str]:
    """Decode ranges at the production concurrency; at one stream, and said so, where production was not measured."""
    for at in ("production", "single"):
        base, cand = evidence["baseline"].get(at), evidence["candidate"].get(at)
        if base and cand and base["n"] and cand["n"]:
            c = cand["c"]
            where = f"at c={c}" if at == "production" else "single stream; production concurrency not measured"
            return (base["tok_per_s_min"], base["tok_per_s_max"]), (cand["tok_per_s_min"], cand["tok_per_s_max"]), where
    return None, None, "not measured"


def _delta(name: str, before: str, after: str, change: str, *, is_known: bool) -> Delta:
    return {"name": name, "before": before or "—?", "after": after or "—?", "change": change, "state": "ok" if is_known else "not_recorded"}


def _span(values: list[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:g}–{high:g} ({len(values)} runs)" if len(values) > 1 else f"{low:g} (one run)"


def _quality(off: list[float], on: list[float], band: float | None) -> Delta:
    before, after = (_span(values) if values else "" for values in (off, on))
    if not off or not on:
        return _delta("quality", before, after, "suite scores are missing", is_known=False)
    moved = median(on) - median(off)
    noise = "" if band is None else f", suite noise ±{band:g}" + (": within it" if abs(moved) <= band else ": beyond it")
    return _delta("quality", before, after, f"median {moved:+g}{noise}", is_known=True)


def _speed(before: tuple[float, float] | None, after: tuple[float, float] | None, where: str) -> Delta:
    shown = [f"{low:.1f}–{high:.1f} tok/s" if low != high else f"{low:.1f} tok/s" for low, high in filter(None, (before, after))]
    if before is None or after is None:
        return _delta("speed", shown[0] if before else "", shown[-1] if after else "", where, is_known=False)
    least, most = after[0] / before[1], after[1] / before[0]
    ratio = f"{least:.2f}–{most:.2f}× between the ranges' ends" if f"{least:.2f}" != f"{most:.2f}" else f"{least:.2f}×"
    return _delta("speed", shown[0], shown[1], f"{ratio}, {where}", is_known=True)


def _fit(before: str, after: str) -> Delta:
    if not before and not after:
        return _delta("fit", "", "", "not recorded", is_known=False)
    return _delta("fit", before, after, "the same" if before == after else "differs", is_known=bool(before and after))


def _operations(before: str, after: str) -> Delta:
    return _delta("operations", before or "n/a", after, "new failure modes as written" if after else "not recorded", is_known=bool(after))


def losing_cells(evidence: dict[str, Any]) -> list[dict[str, Any]]:
    """Every speculative n that was measured at one stream and is not the winner, shortest draft first: kept on purpose."""
    winner = evidence["suggestion"]["n_max"]
    steps = {int(n): cell for n, cell in evidence["steps"].items()}
    return [cell for n, cell in sorted(steps.items()) if n and n != winner]
