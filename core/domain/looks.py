"""Looks at noisy repetitions: is it above, is that ruled out, or is it undecided and worth more repetitions; and the noise plan.

Standard library only, Python 3.8: travels with the agent. Every answer is an exact permutation test (core.domain.stats).
"""

from dataclasses import asdict, dataclass
from functools import lru_cache
from math import sqrt
from statistics import NormalDist, median
from typing import Dict, Optional, Sequence, Tuple

from core.domain.arms import ABBA, BLOCK, FORCED_REPETITIONS, INTERLEAVED, MAX_REPETITIONS, Plan
from core.domain.stats import ABOVE, DRIFT_LIMIT, LATER_P_LIMIT, MIN_GAIN, P_LIMIT, compare, is_drifted, permutation_p

NOT_ABOVE, UNDECIDED = "not-above", "undecided"
DRIFTED, STEADY = "drifted", "steady"
DIFFERENCE = 0.03  # what a noise plan asks for when nothing else is said
POWER = 0.8  # how often a noise plan wants to see it
RESTARTS_WORTH = 4.0  # a return to an arm may load for this many times its repetitions


def limit_for(candidate: Sequence[float], planned: int) -> float:
    """p needed: 0.05 at the planned repetitions, 0.01 once repetitions were added because a look was undecided."""
    return P_LIMIT if len(candidate) <= planned else LATER_P_LIMIT


def look(candidate: Sequence[float], reference: Sequence[float], planned: int) -> str:
    """above | not-above (a gain of 2 % is ruled out) | undecided."""
    return _look(tuple(candidate), tuple(reference), planned)


@lru_cache(maxsize=8192)
def _look(candidate: Tuple[float, ...], reference: Tuple[float, ...], planned: int) -> str:
    if compare(candidate, reference, p_limit=limit_for(candidate, planned)).verdict == ABOVE:
        return ABOVE
    return NOT_ABOVE if _is_below(candidate, reference, 1.0 + MIN_GAIN) else UNDECIDED


def _is_below(candidate: Sequence[float], reference: Sequence[float], factor: float) -> bool:
    """Whether the candidate is shown to lie under `factor` times the reference."""
    if min(len(candidate), len(reference)) < 3:
        return False
    return permutation_p([value * factor for value in reference], candidate) <= P_LIMIT


def beats(candidate: Sequence[float], reference: Sequence[float], planned: int = 3) -> bool:
    """Faster beyond noise and by 2 % or more: the rule of the climb, of the winner and of `keep`."""
    return look(candidate, reference, planned) == ABOVE


def sees(samples: Sequence[float], difference: float, planned: int) -> bool:
    """Whether this many repetitions with this spread would show such a difference: the samples against themselves, moved by it."""
    moved = [value * (1.0 + difference) for value in samples]
    return permutation_p(moved, samples) <= limit_for(samples, planned)


def drift_look(before: Sequence[float], after: Sequence[float]) -> str:
    """drifted | steady (a move of 5 % is ruled out both ways) | undecided."""
    return _drift_look(tuple(before), tuple(after))


@lru_cache(maxsize=8192)
def _drift_look(before: Tuple[float, ...], after: Tuple[float, ...]) -> str:
    if is_drifted(before, after):
        return DRIFTED
    steady = _is_below(after, before, 1.0 + DRIFT_LIMIT) and _is_below(before, after, 1.0 / (1.0 - DRIFT_LIMIT))
    return STEADY if steady else UNDECIDED


def next_size(count: int, plan: Plan) -> int:
    """Repetitions a side at the next look: 3 → 5 → 8. A single look in between keeps false wins rare and most boxes short."""
    middle, most = plan.repetitions + 2, plan.max_repetitions
    return middle if count < middle < most - 1 else most


def extension(plan: Plan, candidate: int, reference: int, warm: str, may_return: bool) -> Optional[Tuple[str, int]]:
    """Which side of an undecided pair gets how many more repetitions: A B B A. None when no side may have more.

    `candidate`, `reference`: repetitions so far; `warm`: the side whose engine is still up ("candidate", "reference" or neither).
    """
    counts = {"candidate": candidate, "reference": reference}
    if not may_return:
        rest = plan.max_repetitions - counts.get(warm, plan.max_repetitions)
        return (warm, rest) if rest > 0 else None
    size = next_size(min(counts.values()), plan)
    sides = sorted((side for side in counts if counts[side] < size), key=lambda side: side != warm)
    return (sides[0], size - counts[sides[0]]) if sides else None


def may_return(plan: Plan, load_s: float, repetition_s: float) -> bool:
    """Whether going back to an arm is allowed: never in block order, else while a restart costs less than it brings."""
    return plan.order != BLOCK and load_s <= RESTARTS_WORTH * 2 * max(repetition_s, 0.05)


@dataclass(frozen=True)
class NoisePlan:
    """What a pilot says: spread of one repetition (share), repetitions a side to see `difference`, None where 8 are too few.

    `smallest`: the smallest difference that the planned and that 8 repetitions would show; `minutes` for the asked sweep at the
    planned and at 8 repetitions an arm, restarts included.
    """

    spread: float
    difference: float
    repetitions: Optional[int]
    smallest: Dict[int, float]
    minutes: Dict[int, float]
    text: str

    def as_json(self) -> Dict[str, object]:
        return asdict(self)


def spread_of(samples: Sequence[float]) -> float:
    """Standard deviation of one repetition as a share of the median; from the median distance where one run stands far out."""
    middle = median(samples)
    distances = sorted(abs(value - middle) for value in samples)
    plain = sqrt(sum(d * d for d in distances) / max(1, len(samples) - 1))
    robust = 1.4826 * median(distances)
    return (plain if len(samples) < 5 or distances[-1] < 4 * robust else robust) / middle


def _seen_with(spread: float, repetitions: int, p_limit: float) -> float:
    """Difference that a rank test of so many repetitions a side shows in 8 of 10 sweeps; 0.955: a rank test's efficiency."""
    normal = NormalDist()
    z = normal.inv_cdf(1.0 - p_limit) + normal.inv_cdf(POWER)
    return max(MIN_GAIN, z * spread * sqrt(2.0 / (0.955 * repetitions)))


def noise_plan(
    samples: Sequence[float], plan: Plan, *, repetition_s: float, load_s: float, difference: float = DIFFERENCE, forced: int = 0
) -> Optional[NoisePlan]:
    """From a pilot's baseline rates: repetitions needed to see `difference`, and what the sweep costs. None under 3 samples.

    `forced`: points of the forced-acceptance pass that follows it.
    """
    if len(samples) < 3:
        return None
    spread = spread_of(samples)
    enough = [k for k in range(3, MAX_REPETITIONS + 1) if _seen_with(spread, k, P_LIMIT) <= max(difference, MIN_GAIN)]
    needed = enough[0] if enough else None
    sizes = sorted({needed or MAX_REPETITIONS, plan.repetitions, MAX_REPETITIONS})
    after = forced * (load_s + (FORCED_REPETITIONS + 1) * repetition_s) / 60.0
    minutes = {k: _minutes(plan, k, repetition_s, load_s) + after for k in sizes}
    smallest = {k: _seen_with(spread, k, P_LIMIT) for k in sizes}
    return NoisePlan(spread, difference, needed, smallest, minutes, _words(spread, difference, needed, minutes, smallest, bool(forced)))


def _minutes(plan: Plan, repetitions: int, repetition_s: float, load_s: float) -> float:
    """The whole sweep, no step left out: baseline twice, every n, production arms; each with a warm-up and a start of the engine."""
    visits = 2 + plan.n_max + (plan.n_max if plan.order == INTERLEAVED else 0)
    visits += 0 if plan.production_c == 1 else 2 + (plan.n_max > 1)
    visits += 2 * len(plan.loads)
    return visits * (load_s + (repetitions + 1) * repetition_s) / 60.0


def _words(
    spread: float, difference: float, needed: Optional[int], minutes: Dict[int, float], smallest: Dict[int, float], forced: bool
) -> str:
    whole = "the whole sweep and its forced pass" if forced else "the whole sweep"
    lead = "One repetition varies by %.1f %%." % (100.0 * spread)
    if needed is None:
        most = MAX_REPETITIONS
        return "%s A difference of %.1f %% is too small for %d repetitions a side (%s); they show %.1f %% or more." % (
            lead, 100.0 * difference, most, _long(minutes[most]), 100.0 * smallest[most],
        )  # fmt: skip
    return "%s A difference of %.1f %% needs %d repetitions a side: %s for %s." % (
        lead, 100.0 * difference, needed, _long(minutes[needed]), whole,
    )  # fmt: skip


def too_long(found: NoisePlan, limit_s: float) -> str:
    """The sentence where the sweep, should every comparison stay open, takes longer than a run may; "" where it fits."""
    longest = max(found.minutes.values())
    if 60.0 * longest <= limit_s:
        return ""
    lead = "With %d repetitions a side everywhere it takes %s" % (max(found.minutes), _long(longest))
    return " %s; after %.0f minutes a run is ended. A time budget moves that end." % (lead, limit_s / 60.0)


def _long(minutes: float) -> str:
    whole = round(minutes)
    return "about %d minute%s" % (whole, "" if whole == 1 else "s") if whole else "less than a minute"


ORDERS = (ABBA, INTERLEAVED, BLOCK)
