"""Imported cells as the matrix shows them: which stand in one row, what they cost, and which of them cannot be."""

from __future__ import annotations

from typing import Any

from core.domain.imported import FASTEST, real
from core.domain.matrix import accept_status, invalid_cell, not_run, pair_why
from core.domain.price import Price, price_pair, verdict_of
from core.domain.sound import is_rate, rate_fault, share_fault


def row_key(one: dict[str, Any]) -> tuple[Any, ...]:
    """What imported cells of one file have to share to stand in one row."""
    return one["sha256"], one["model"], one["build"], one["settings"], one["context"], one["workload"], one["placement"]["label"], one["c"]


def imported_fault(one: dict[str, Any]) -> str | None:
    """Why the file's rate cannot be; None where it can."""
    if not is_rate(one["tok_per_s"]):
        return rate_fault(one["tok_per_s"])
    return None if real(one["tok_per_s"], 1e-6, FASTEST) else f"{one['tok_per_s']:.3g} tok/s is no speed"


def imported_price(one: dict[str, Any], baseline: dict[str, Any] | None) -> Price | None:
    """Price of a pair of the same file and row. Above c=1 the step cost is per stream."""
    if not one["n_max"] or baseline is None or imported_fault(one) or imported_fault(baseline):
        return None
    streams = one["c"] or 1
    base, spec = baseline["tok_per_s"] / streams, one["tok_per_s"] / streams
    a = one["a"] if not share_fault(one["accept_share"]) and one["a"] is not None and one["a"] <= one["n_max"] + 1 else None
    d_ms = one["d_ms"] if a is not None and one["d_ms"] is not None and one["d_ms"] <= 1000.0 * a / spec else None
    return price_pair(base, spec, one["n_max"], a=a, d_ms=d_ms, verdict=one["verdict"] or verdict_of(spec / base))


def imported_why(group: dict[int, dict[str, Any]], why: str) -> str:
    """The row's sentence; `why` where a pair stands in it."""
    if 0 not in group:
        return "the file holds no baseline beside it: a speed-up cannot be told"
    return why if len(group) > 1 else "the file holds a baseline only"


def imported_cell(one: dict[str, Any], baseline: dict[str, Any] | None) -> dict[str, Any]:
    """Matrix cell of one imported figure, with its mark; it has no run, so nothing can be kept on it."""
    price, wrong = imported_price(one, baseline), share_fault(one["accept_share"])
    share, faults = None if wrong else one["accept_share"], [wrong] if wrong else []
    shown = {
        **not_run(),
        "tok_s": one["tok_per_s"], "tok_s_min": one["tok_per_s_min"], "tok_s_max": one["tok_per_s_max"], "n": one["n"],
        "speedup": price.speedup if price else None, "accept_share": share, "accept_denominator": one["accept_denominator"],
        "status": "ok", "verdict": price.verdict if price else None, "provenance": "imported",
        "source": f"file {one['file']} ({one['sha256'][:12]})", "cell_id": f"imported~{one['sha256']}~{one['position']}",
        "why": pair_why(price, one["n_max"] or 0), "price": price.as_json() if price else None,
        "accept_status": accept_status(one["n_max"], share, faults), "faults": faults,
    }  # fmt: skip
    fault = imported_fault(one)
    return invalid_cell(shown, fault) if fault else shown
