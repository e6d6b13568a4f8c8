"""Median, spread and "is it different" for a handful of runs. Standard library only, Python 3.8: travels with the agent."""

from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import Dict, List, Optional, Sequence, Tuple

P_LIMIT = 0.05  # one-sided; 3 against 3 reaches it only when every run of one side beats every run of the other
LATER_P_LIMIT = 0.01  # once repetitions were added because a look was undecided: looking again and again finds false wins
MIN_GAIN = 0.02  # below this nothing is called a win or a loss
FLOOR = 0.25  # share of the slowest runs that count as equally slow
DRIFT_LIMIT = 0.05  # a baseline that moved less than this is not called drifted

ABOVE, BELOW, NO_DIFFERENCE, TOO_FEW = "above", "below", "no-difference", "too-few"


@dataclass(frozen=True)
class Comparison:
    """candidate against reference: `ratio` of medians, one-sided exact `p_above`, `p_below`, and what they allow to say."""

    ratio: Optional[float]
    p_above: Optional[float]
    p_below: Optional[float]
    verdict: str


def _doubled_ranks(values: Sequence[float]) -> List[int]:
    """Mid-ranks, so that equal values share theirs; doubled, so that they are whole numbers.

    From 8 runs on the slowest quarter shares one rank: a stall only ever slows a run down, and how far says nothing about the arm.
    """
    ordered = sorted(values)
    place: Dict[float, Tuple[int, int]] = {}
    for at, value in enumerate(ordered):
        first, last = place.get(value, (at, at))
        place[value] = (first, at)
    floor = 2 * max(1, int(len(ordered) * FLOOR))
    return [max(floor, place[value][0] + place[value][1] + 2) for value in values]


@lru_cache(maxsize=4096)
def _tail_shares(ranks: Tuple[int, ...], k: int) -> Tuple[float, ...]:
    """By sum s: the share of all choices of k ranks whose sum is at least s. Counted by adding one rank at a time."""
    size = sum(ranks) + 1
    ways = [[0] * size for _ in range(k + 1)]
    ways[0][0] = 1
    for seen, rank in enumerate(ranks):
        for chosen in range(min(k, seen + 1), 0, -1):
            row, below = ways[chosen], ways[chosen - 1]
            for total in range(size - 1, rank - 1, -1):
                row[total] += below[total - rank]
    counted, tail = 0, [0] * (size + 1)
    for total in range(size - 1, -1, -1):
        counted += ways[k][total]
        tail[total] = counted
    return tuple(count / counted for count in tail)


def permutation_p(candidate: Sequence[float], reference: Sequence[float]) -> float:
    """Exact one-sided p that the candidate's rank sum is as high by chance: share of all splits at least as extreme.

    Rank sums, not means: one stalled repetition (seen: 21 s instead of 0.9 s) must not decide.
    """
    ranks = _doubled_ranks(list(candidate) + list(reference))
    return _tail_shares(tuple(sorted(ranks)), len(candidate))[sum(ranks[: len(candidate)])]


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


def shift(candidate: Sequence[float], reference: Sequence[float]) -> float:
    """Median of all pairwise ratios: how far one side moved, steadier than a ratio of two medians."""
    return median([one / other for one in candidate for other in reference])


def is_drifted(before: Sequence[float], after: Sequence[float], *, p_limit: float = P_LIMIT) -> bool:
    """The baseline moved beyond noise and by more than 5 %: heat, other load; the run cannot support `keep`."""
    if min(len(before), len(after)) < 3 or abs(shift(after, before) - 1.0) <= DRIFT_LIMIT:
        return False
    return min(permutation_p(after, before), permutation_p(before, after)) <= p_limit
