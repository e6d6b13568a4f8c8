"""What shorter drafts would have brought, from the positions of one longer draft: to order what to measure next, never instead of it.

Pure. A predicted speed-up needs a measured cost of that very n (a forced-acceptance pass, or D + V of its own cell); without one there is
the expected a and nothing else. Every result is a prediction and is shown as one.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from core.domain.price import tokens_per_step_from_positions

PREDICTED = "predicted"
TOLERANCE = 1e-6  # an unconditional share may not rise with the position


@dataclass(frozen=True)
class Projected:
    """One shorter draft. `step_ms`, `speedup` None: its cost was not measured. `measured`: the speed-up of its own cell, if any."""

    n_max: int
    a: float
    step_ms: float | None
    speedup: float | None
    cost_from: str
    measured: float | None
    kind: str = PREDICTED

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def positions_fault(per_position: list[float]) -> str | None:
    """What is wrong with unconditional shares by position, in words; None where they can be."""
    for place, share in enumerate(per_position, 1):
        if not math.isfinite(share) or not 0.0 <= share <= 1.0 + TOLERANCE:
            return f"position {place}: a share of {share} cannot be"
        if place > 1 and share > per_position[place - 2] + TOLERANCE:
            return f"position {place} was reached more often than position {place - 1}: these are no unconditional shares"
    return None


def expected_a(per_position: list[float], n_max: int) -> float:
    """a(n) = 1 + Σ P_i for i < n. Raises ValueError for shares that cannot be, or fewer than n of them."""
    fault = positions_fault(per_position)
    if fault or not 1 <= n_max <= len(per_position):
        raise ValueError(fault or f"positions up to {len(per_position)} do not tell about n_max {n_max}")
    return tokens_per_step_from_positions(per_position[:n_max])


def project(per_position: list[float], h_ms: float, costs: dict[int, tuple[float, str]], measured: dict[int, float]) -> list[Projected]:
    """Every n below the measured draft's. `costs`: n → (D + V in ms, where it was measured); `measured`: n → speed-up of its own cell.

    Raises ValueError for shares that cannot be.
    """
    found = []
    for n in range(1, len(per_position)):
        a, (step, origin) = expected_a(per_position, n), costs.get(n, (None, ""))
        speedup = None if step is None or step <= 0 else a * h_ms / step
        found.append(Projected(n, a, step, speedup, origin, measured.get(n)))
    return found


def order_to_measure(projected: list[Projected]) -> list[int]:
    """Lengths without a cell of their own, the highest predicted speed-up first, then those without a cost, shortest first."""
    open_ones = [one for one in projected if one.measured is None]
    return [one.n_max for one in sorted(open_ones, key=lambda one: (-(one.speedup or 0.0), one.n_max))]
