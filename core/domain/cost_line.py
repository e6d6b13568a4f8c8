"""The cost of a speculative step without the drafter's luck: two forced points (all accepted, none accepted) for each n fix a line.

Pure, standard library only, Python 3.8: travels with the agent. Forced text is invalid and an engine may do other work for accepted
tokens than for rejected ones, which is why the line leans; a cell a decision rests on never holds such a figure.
"""

from dataclasses import asdict, dataclass
from statistics import median
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

FORECAST_LIMIT = 0.10  # V realised further than this from V foretold: look for the cause before believing a forecast
ALL, NONE = "all", "none"
Point = Tuple[float, float]


@dataclass(frozen=True)
class CostLine:
    """D + V(n) in ms at `a_none` (nothing accepted) and `a_all` (all accepted) tokens a step; `d_ms` None: the engine told no D."""

    n_max: int
    a_none: float
    none_ms: float
    a_all: float
    all_ms: float
    d_ms: Optional[float] = None

    def step_ms(self, a: float) -> float:
        """D + V(n) at `a` tokens a step; beyond the two points the line goes on."""
        if self.a_all <= self.a_none:
            return self.none_ms
        return self.none_ms + (self.all_ms - self.none_ms) * (a - self.a_none) / (self.a_all - self.a_none)

    def speedup(self, a: float, h_ms: float) -> float:
        """s = a · H ÷ (D + V(n)), foretold."""
        return a * h_ms / self.step_ms(a)

    def break_even_a(self, h_ms: float) -> Optional[float]:
        """The a from which n pays; None: not even with every draft accepted."""
        if self.speedup(self.a_all, h_ms) <= 1.0:
            return None
        if self.speedup(self.a_none, h_ms) >= 1.0:
            return self.a_none
        slope = (self.all_ms - self.none_ms) / (self.a_all - self.a_none)
        return (self.none_ms - slope * self.a_none) / (h_ms - slope)

    def as_json(self) -> Dict[str, object]:
        return asdict(self)


def fit(points: Mapping[Tuple[int, str], Sequence[Point]], d_ms: Optional[Mapping[int, Optional[float]]] = None) -> List[CostLine]:
    """Lines from (n, all | none) → [(a, D + V in ms), …], by medians; an n without both points has no line."""
    lines = []
    for n in sorted({n for n, _ in points}):
        none, full = (points.get((n, word)) for word in (NONE, ALL))
        if none and full:
            lines.append(CostLine(n, _middle(none, 0), _middle(none, 1), _middle(full, 0), _middle(full, 1), (d_ms or {}).get(n)))
    return lines


def _middle(points: Sequence[Point], at: int) -> float:
    return median([point[at] for point in points])


def across(lines: Sequence[CostLine]) -> Optional[Dict[str, float]]:
    """D + V(n) ≈ fixed_ms + n · per_token_ms by least squares over the lines' middles; None under two n."""
    if len(lines) < 2:
        return None
    points = [(float(line.n_max), (line.none_ms + line.all_ms) / 2.0) for line in lines]
    n_mean, ms_mean = (sum(point[at] for point in points) / len(points) for at in (0, 1))
    slope = sum((n - n_mean) * (ms - ms_mean) for n, ms in points) / sum((n - n_mean) ** 2 for n, _ in points)
    return {"fixed_ms": ms_mean - slope * n_mean, "per_token_ms": slope}


def residual(line: CostLine, a: float, realised_ms: float, d_ms: Optional[float]) -> Tuple[float, str]:
    """(V realised ÷ V foretold − 1, "V"), or the same of D + V and "D + V" where D is not known on both sides.

    `realised_ms`: D + V of the real run at its own `a`; `d_ms`: its D.
    """
    foretold = line.step_ms(a)
    if line.d_ms is not None and d_ms is not None and line.d_ms < foretold and d_ms < realised_ms:
        return (realised_ms - d_ms) / (foretold - line.d_ms) - 1.0, "V"
    return realised_ms / foretold - 1.0, "D + V"
