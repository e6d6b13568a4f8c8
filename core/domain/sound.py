"""Whether the figures of a cell can be: finite, above zero, no more accepted than proposed. What cannot be is invalid, with its source."""

from __future__ import annotations

import math
from typing import Any


def is_rate(value: Any) -> bool:
    """A finite speed above zero."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0


def rate_fault(value: Any) -> str | None:
    """What is wrong with a speed, in words; None where it can be."""
    return None if is_rate(value) else f"{said(value)} tok/s is no speed"


def said(value: Any) -> str:
    """A figure as it came, short enough for a sentence."""
    return "nothing" if value is None else str(value)[:40]


def count_faults(*, drafted: Any, accepted: Any, steps: Any, decode_tokens: Any, n_max: int) -> list[str]:
    """Counts of a speculative arm that contradict one another; empty where they can be, or where they are not there."""
    if not n_max or drafted is None or accepted is None:
        return []
    found = []
    if accepted < 0 or drafted < 0:
        found.append(f"{accepted} accepted of {drafted} proposed tokens: a count is below zero")
    elif accepted > drafted:
        found.append(f"{accepted} accepted of {drafted} proposed tokens: acceptance above 100%")
    if steps is not None and decode_tokens is not None and (steps < 1 or not 1.0 <= decode_tokens / steps <= n_max + 1 + 1e-9):
        found.append(f"{decode_tokens} tokens in {steps} steps: a step of n_max {n_max} commits 1 to {n_max + 1}")
    return found


def share_fault(share: Any) -> str | None:
    """What is wrong with an acceptance (0-1), in words; None where it can be, or was not given."""
    if share is None or (isinstance(share, int | float) and math.isfinite(share) and 0.0 <= share <= 1.0):
        return None
    shown = f"{share:.0%}" if isinstance(share, int | float) and math.isfinite(share) else said(share)
    return f"an acceptance of {shown} cannot be"


def cell_faults(cell: dict[str, Any]) -> list[str]:
    """Everything impossible about a measured cell; rates first."""
    found = [fault for fault in [rate_fault(cell["tok_per_s"])] if fault and cell["n"]]
    counts = {name: cell.get(name) for name in ("drafted", "accepted", "steps", "decode_tokens")}
    return found + (count_faults(**counts, n_max=cell["n_max"]) if cell["n"] else [])


def number_of(value: Any) -> Any:
    """A number as it was told; what is none is unknown (None)."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def table_of(value: Any) -> dict[str, Any]:
    """A table as it was told; what is none says nothing."""
    return value if isinstance(value, dict) else {}
