"""Median, spread and "is it different" for a handful of runs. Standard library only, Python 3.8: travels with the agent."""

from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import List, Optional, Sequence

P_LIMIT = 0.05  # one-sided; 3 against 3 reaches it only when every run of one side beats every run of the other
MIN_GAIN = 0.02  # below this nothing is called a win or a loss
DRIFT_LIMIT = 0.05  # a baseline that moved less than this is not called drifted

ABOVE, BELOW, NO_DIFFERENCE, TOO_FEW = "above", "below", "no-difference", "too-few"


@dataclass(frozen=True)
class Comparison:
    """candidate against reference: `ratio` of medians, one-sided exact `p_above`, `p_below`, and what they allow to say."""

    ratio: Optional[float]
    p_above: Optional[float]
    p_below: Optional[float]
    verdict: str


def _ranks(values: Sequence[float]) -> List[float]:
    """Mid-ranks, so that equal values share theirs."""
    ordered = sorted(values)
    place = {}
    for value in set(values):
        first = ordered.index(value)
        place[value] = first + (ordered.count(value) + 1) / 2.0
    return [place[value] for value in values]


def permutation_p(candidate: Sequence[float], reference: Sequence[float]) -> float:
    """Exact one-sided p that the candidate's rank sum is as high by chance: share of all splits at least as extreme.

    Rank sums, not means: one stalled repetition (seen: 21 s instead of 0.9 s) must not decide.
    """
    ranks = _ranks(list(candidate) + list(reference))
    k = len(candidate)
    seen = sum(ranks[:k])
    splits = [sum(part) for part in combinations(ranks, k)]
    return sum(1 for total in splits if total >= seen - 1e-9) / len(splits)


def compare(candidate: Sequence[float], reference: Sequence[float], *, p_limit: float = P_LIMIT) -> Comparison:
    """Says above/below only beyond noise and beyond 2 %; with fewer than 3 runs a side nothing can be said."""
    if not candidate or not reference:
        return Comparison(None, None, None, TOO_FEW)
    ratio = median(candidate) / median(reference)
    above, below = permutation_p(candidate, reference), permutation_p(reference, candidate)
    if min(len(candidate), len(reference)) < 3:
        return Comparison(ratio, above, below, TOO_FEW)
    if above <= p_limit and ratio >= 1.0 + MIN_GAIN:
        return Comparison(ratio, above, below, ABOVE)
    if below <= p_limit and ratio <= 1.0 - MIN_GAIN:
        return Comparison(ratio, above, below, BELOW)
    return Comparison(ratio, above, below, NO_DIFFERENCE)


def is_drifted(before: Sequence[float], after: Sequence[float]) -> bool:
    """The baseline moved beyond noise and by more than 5 %: heat, other load; the run cannot support `keep`."""
    found = compare(after, before)
    return found.verdict in (ABOVE, BELOW) and abs((found.ratio or 1.0) - 1.0) > DRIFT_LIMIT
