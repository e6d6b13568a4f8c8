"""Pricing rules for figures that somebody else published: rates, ratios, medians and cost curves, without the runs behind them.

Published figures carry no repetitions of ours, so every result is a statement about what was published, never about a machine here.
"""

from __future__ import annotations

import statistics as stats
from collections.abc import Mapping, Sequence

from core.domain import price

USABLE_CV = 0.1  # spread over mean up to which a rate without its single values may be compared
TIE = 0.01  # rates closer than this show no order where no repetitions were published
SPILL_RATIO = 0.6  # a speed-up that halves at another context while acceptance holds is a memory fault, not a draft's


def speedup_bounds(spec: tuple[float, float], base: tuple[float, float]) -> tuple[float, float]:
    """(least, most) speed-up from two published ranges of tokens/s (low, high)."""
    return spec[0] / base[1], spec[1] / base[0]


def verdict_between(first: float, second: float) -> str:
    """`tie` where two published rates differ by no more than TIE, else `higher` or `lower` for the second."""
    if abs(second / first - 1) <= TIE:
        return "tie"
    return "higher" if second > first else "lower"


def spread_pct(rates: Sequence[float]) -> float:
    """Highest over lowest rate, less one, in per cent."""
    return 100 * (max(rates) / min(rates) - 1)


def drift_pct(rates: Sequence[float]) -> float:
    """Change from the first rate to the last, in per cent: a burst that heats up drifts down."""
    return 100 * (rates[-1] / rates[0] - 1)


def gain_shown(gain: float, rates: Sequence[float]) -> bool:
    """Whether a gain (0.03 for 3 %) exceeds the drift of the same run, so that it can be told from heat."""
    return gain > abs(drift_pct(rates)) / 100


def verify_cost(passes_ms: Mapping[int, float]) -> dict[int, float]:
    """V(n)/V(1) from ms per pass over n tokens; needs n = 1."""
    return {n: ms / passes_ms[1] for n, ms in passes_ms.items()}


def cliff(cost: Mapping[int, float]) -> tuple[int, int] | None:
    """The neighbouring batch sizes between which a token more costs most, where that is dearer than a whole pass; None without one."""
    sizes = sorted(cost)
    steps = [((cost[b] - cost[a]) / (b - a), a, b) for a, b in zip(sizes, sizes[1:], strict=False)]
    dearest = max(steps, default=(0.0, 0, 0))
    return (dearest[1], dearest[2]) if dearest[0] >= 1 else None


def n_max_limit(cost: Mapping[int, float]) -> int | None:
    """Longest draft that stays below the cliff: a pass verifies n_max + 1 tokens. None without a cliff."""
    edge = cliff(cost)
    return None if edge is None else edge[0] - 1


def median_speedup(spec: Sequence[float], base: Sequence[float]) -> float:
    """Median rate over median rate."""
    return stats.median(spec) / stats.median(base)


def mean_speedup(spec: Sequence[float], base: Sequence[float]) -> float:
    """Mean rate over mean rate."""
    return stats.fmean(spec) / stats.fmean(base)


def cv(mean: float, deviation: float) -> float:
    """Spread over mean, 0-1."""
    return deviation / mean


def usable(mean: float, deviation: float) -> bool:
    """Whether a rate published with its spread may be compared."""
    return cv(mean, deviation) <= USABLE_CV


def step_in_h(a: float, speedup: float) -> float:
    """Cost of a speculative step in baseline steps: what a and the speed-up leave."""
    return a / speedup


def suspected_spill(speedup: float, speedup_elsewhere: float, accept: float, accept_elsewhere: float) -> bool:
    """Whether a speed-up collapsed although acceptance held: the signature of memory that overflowed unseen."""
    return speedup < SPILL_RATIO * speedup_elsewhere and abs(accept - accept_elsewhere) <= 0.05


def break_even(pass_ms: float, h_ms: float, n_max: int) -> float:
    """Accepted share at which a draft of n_max pays, drafting being free, from the cost of a pass and of a baseline token, ms."""
    return price.break_even_accept_share(pass_ms / h_ms, n_max)


def best_n_max(speedups: Mapping[int, float]) -> int:
    """The draft length with the highest speed-up."""
    return max(speedups, key=lambda n: speedups[n])


def monotone(accepts: Sequence[float], speedups: Sequence[float]) -> bool:
    """Whether more acceptance always went with more speed."""
    ordered = [speedup for _, speedup in sorted(zip(accepts, speedups, strict=True))]
    return all(later >= earlier for earlier, later in zip(ordered, ordered[1:], strict=False))


def lengths_differ(tokens: Sequence[int]) -> bool:
    """Whether arms or runs generated so different lengths that their rates are no pair (more than 10 %)."""
    return max(tokens) > 1.1 * min(tokens)
