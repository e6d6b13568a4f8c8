"""Imported cells as the matrix shows them: which stand in one row, what they cost, and which of them cannot be."""

from __future__ import annotations

from typing import Any

from core.domain.imported import FASTEST, real
from core.domain.matrix import NO_BASELINE, cell_why, invalid_cell, not_run, problem_of, with_price
from core.domain.price import Price, price_pair, verdict_of


def row_key(one: dict[str, Any]) -> tuple[Any, ...]:
    """What imported cells of one file have to share to stand in one row."""
    return one["sha256"], one["model"], one["build"], one["settings"], one["context"], one["workload"], one["placement"]["label"], one["c"]


def imported_problem(one: dict[str, Any]) -> str:
    """Why the file's figures for a cell cannot be; empty where they can."""
    found = problem_of(one["tok_per_s"], one["accept_share"])
    return found or ("" if real(one["tok_per_s"], 1e-6, FASTEST) else f"it says {one['tok_per_s']:.3g} tok/s")


def imported_price(one: dict[str, Any], baseline: dict[str, Any] | None) -> Price | None:
    """Price of a pair of the same file and row. Above c=1 the step cost is per stream."""
    if not one["n_max"] or baseline is None or imported_problem(one) or imported_problem(baseline):
        return None
    streams = one["c"] or 1
    base, spec = baseline["tok_per_s"] / streams, one["tok_per_s"] / streams
    a = one["a"] if one["a"] is not None and one["a"] <= one["n_max"] + 1 else None
    d_ms = one["d_ms"] if a is not None and one["d_ms"] is not None and one["d_ms"] <= 1000.0 * a / spec else None
    return price_pair(base, spec, one["n_max"], a=a, d_ms=d_ms, verdict=one["verdict"] or verdict_of(spec / base))


def imported_why(group: dict[int, dict[str, Any]], why: str) -> str:
    """The row's sentence; `why` where a pair stands in it."""
    if 0 not in group:
        return "the file holds no baseline beside it: a speed-up cannot be told"
    return why if len(group) > 1 else "the file holds a baseline only"


def imported_cell(one: dict[str, Any], baseline: dict[str, Any] | None) -> dict[str, Any]:
    """Matrix cell of one imported figure, with its mark; it has no run, so nothing can be kept on it."""
    price, problem = imported_price(one, baseline), imported_problem(one)
    shown = {
        **not_run(),
        "tok_s": one["tok_per_s"], "tok_s_min": one["tok_per_s_min"], "tok_s_max": one["tok_per_s_max"], "n": one["n"],
        "accept_share": one["accept_share"], "accept_denominator": one["accept_denominator"],
        "status": "ok", "verdict": price.verdict if price else None, "provenance": "imported",
        "source": f"file {one['file']} ({one['sha256'][:12]})", "cell_id": f"imported~{one['sha256']}~{one['position']}",
        "why": cell_why(price, one["n_max"] or 0) or (NO_BASELINE if one["n_max"] else ""),
    }  # fmt: skip
    return invalid_cell(shown, problem) if problem else with_price(shown, price)
