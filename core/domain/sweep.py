"""The sweep protocol: which arm comes next, when to stop, who wins. Pure; standard library only, Python 3.8: travels with the agent.

Rules in words: docs/protocol.md.
"""

from dataclasses import dataclass
from statistics import median
from typing import Dict, List, Mapping, Optional, Sequence

from core.domain.arms import (
    ABBA,
    BASELINE,
    BASELINE_AGAIN,
    BETWEEN,
    BLOCK,
    INTERLEAVED,
    LOAD,
    OFF,
    PRODUCTION,
    STEP,
    Measured,
    Plan,
    Stage,
    Stop,
    cancelled,
    label,
    patience,
    problems_of,
)
from core.domain.climb import Climb
from core.domain.looks import DRIFTED, UNDECIDED, beats, drift_look, extension, look, may_return, next_size

__all__ = [
    "ABBA", "BASELINE", "BASELINE_AGAIN", "BETWEEN", "BLOCK", "INTERLEAVED", "LOAD", "OFF", "PRODUCTION", "STEP", "Measured",
    "Plan", "Stage", "Stop", "Verdict", "cancelled", "drifted", "keeps", "next_stage", "patience", "possible_stages",
    "problems_of", "production_verdict", "flip_text", "stop_of", "winner", "winner_of", "BESIDE",
]  # fmt: skip

BESIDE = (PRODUCTION, LOAD)  # kinds that are no part of the single-stream search


def _arms(done: Sequence[Measured]) -> Dict[int, List[float]]:
    """Warm rates of the single-stream search, by n; the baseline is all its warm samples."""
    arms: Dict[int, List[float]] = {}
    for item in done:
        if item.stage.kind not in BESIDE and item.status == "ok":
            arms.setdefault(item.stage.n_max, []).extend(item.tok_per_s)
    return arms


def _planned(done: Sequence[Measured]) -> int:
    """Repetitions of an arm's first visit, as the opening baseline had them."""
    return done[0].stage.repetitions if done else 3


def winner_of(arms: Mapping[int, Sequence[float]], planned: int = 3) -> Optional[int]:
    """The n that beats every smaller n, off included, beyond noise; the smaller n wins a tie. None without a baseline.

    `planned`: repetitions of an arm's first visit; an arm that needed more has to clear the stricter limit.
    """
    if not arms.get(OFF):
        return None
    best = OFF
    for n in sorted(arms):
        if n != best and beats(arms[n], arms[best], planned):
            best = n
    return best


def winner(done: Sequence[Measured]) -> Optional[int]:
    """The winning n_max of the single-stream search so far."""
    return winner_of(_arms(done), _planned(done))


def stop_of(plan: Plan, done: Sequence[Measured]) -> Optional[Stop]:
    """Why the climb ends here, or None while it goes on. What the closing baseline adds does not open it again."""
    return Climb(plan, done).stop()


def next_stage(plan: Plan, done: Sequence[Measured]) -> Optional[Stage]:
    """The next arm to measure, None when the sweep is complete. Call with everything measured so far, in order."""
    if not done:
        return Stage(BASELINE, OFF, 1, plan.repetitions)
    again = [item for item in done if item.stage.kind == BASELINE_AGAIN]
    if not again and not _in_production(done):
        climb = Climb(plan, done)
        if climb.extend is not None:
            return climb.extend
        stop = climb.stop()
        if stop is None:
            if plan.order == INTERLEAVED and done[-1].stage.kind == STEP:
                return Stage(BETWEEN, OFF, 1, plan.repetitions)
            return Stage(STEP, climb.highest + 1, 1, plan.repetitions)
        if stop.code == "baseline_failed":
            return None
        return Stage(BASELINE_AGAIN, OFF, 1, _opening_size(plan, done))
    if not _in_production(done):
        more = _longer_closing(plan, done, again)
        if more:
            return Stage(BASELINE_AGAIN, OFF, 1, more)
    return _production_stage(plan, done) or _load_stage(plan, done)


def _in_production(done: Sequence[Measured]) -> bool:
    return any(item.stage.kind in BESIDE for item in done)


def _longer_closing(plan: Plan, done: Sequence[Measured], again: Sequence[Measured]) -> int:
    """More closing repetitions while it is undecided whether the baseline moved; its engine is still up."""
    before, after = _before(done), _rates(again)
    if again[-1].status != "ok" or drift_look(before, after) != UNDECIDED:
        return 0
    if not Climb(plan, done).affords(plan.max_repetitions - len(after)):
        return 0
    return next_size(len(after), plan) - len(after)


def _opening_size(plan: Plan, done: Sequence[Measured]) -> int:
    """Repetitions that the opening baseline needed: what the pilot says about this box's noise."""
    before = next((at for at, item in enumerate(done) if item.stage.kind != BASELINE), len(done))
    return max(plan.repetitions, min(plan.max_repetitions, len(_rates(done[:before]))))


def _rates(items: Sequence[Measured]) -> List[float]:
    return [rate for item in items if item.status == "ok" for rate in item.tok_per_s]


def _before(done: Sequence[Measured]) -> List[float]:
    """The baseline before the closing one, the visits between steps left out: they may have moved already."""
    return _rates([item for item in done if item.stage.kind == BASELINE])


def drifted(done: Sequence[Measured]) -> Optional[bool]:
    """Whether the baseline moved between start and end, or in between where it was measured there; None where it was not measured twice."""
    before = _before(done)
    after = [_rates([item for item in done if item.stage.kind == kind]) for kind in (BASELINE_AGAIN, BETWEEN)]
    if not before or not after[0]:
        return None
    return any(drift_look(before, rates) == DRIFTED for rates in after if rates)


def production_arms(plan: Plan, done: Sequence[Measured]) -> List[int]:
    """n_max=1, winner and baseline at the production concurrency; where off wins, n_max=1 stands for the change under test."""
    if plan.production_c == 1:
        return []  # the single-stream cells are the production cells
    measured = [i.stage.n_max for i in done if i.stage.kind == STEP and i.status == "ok"]
    if not measured:
        return [OFF]
    return sorted({1, winner(done) or 1} & set(measured)) + [OFF]


def _production_stage(plan: Plan, done: Sequence[Measured]) -> Optional[Stage]:
    arms = production_arms(plan, done)
    made = [item for item in done if item.stage.kind == PRODUCTION]
    for n in arms:
        if not any(item.stage.n_max == n for item in made):
            return Stage(PRODUCTION, n, plan.production_c, _opening_size(plan, done))
    return _production_extension(plan, done, made, arms[-2]) if len(arms) > 1 else None


def _load_stage(plan: Plan, done: Sequence[Measured]) -> Optional[Stage]:
    """Winner (n_max=1 where off wins) and baseline at the next further concurrency, as long as the time budget has room."""
    seen = {(item.stage.n_max, item.stage.c) for item in done if item.stage.kind == LOAD}
    steps = [item.stage.n_max for item in done if item.stage.kind == STEP and item.status == "ok"]
    candidate = winner(done) or 1
    arms = [candidate, OFF] if candidate in steps else [OFF]
    for c in sorted(plan.loads):
        for n in arms:
            if (n, c) not in seen:
                return Stage(LOAD, n, c, plan.repetitions) if _affords_a_visit(plan, done) else None
    return None


def _affords_a_visit(plan: Plan, done: Sequence[Measured]) -> bool:
    """Whether a visit as long as the longest so far still fits into the time budget."""
    return not plan.budget_s or sum(item.took_s for item in done) + max(item.took_s for item in done) <= plan.budget_s


def _production_extension(plan: Plan, done: Sequence[Measured], made: Sequence[Measured], n: int) -> Optional[Stage]:
    """More repetitions of the candidate or the baseline at production while that comparison is undecided."""
    if any(item.status != "ok" for item in made if item.stage.n_max in (n, OFF)):
        return None
    mine, off = (_rates([item for item in made if item.stage.n_max == arm]) for arm in (n, OFF))
    if look(mine, off, made[0].stage.repetitions) != UNDECIDED or not _affords_a_visit(plan, done):
        return None
    last = made[-1].stage.n_max
    warm = {n: "candidate", OFF: "reference"}.get(last, "")
    back = [item for item in made if item.stage.n_max == (OFF if last == n else n)]
    seconds = median([(item.took_s - item.load_s) / (item.stage.repetitions + 1) for item in back])
    found = extension(plan, len(mine), len(off), warm, may_return(plan, max(item.load_s for item in back), seconds))
    if found is None:
        return None
    return Stage(PRODUCTION, n if found[0] == "candidate" else OFF, plan.production_c, found[1])


@dataclass(frozen=True)
class Verdict:
    """The change under test at the production concurrency: its n_max, ratio of medians, wins | loses | no-difference.

    `single`: the verdict at one stream; `flips`: whether the two differ.
    """

    n_max: int
    ratio: float
    verdict: str
    single: str
    flips: bool


def production_verdict(plan: Plan, done: Sequence[Measured]) -> Optional[Verdict]:
    """What production says about the winner (n_max=1 where off wins); None until both sides are measured there."""
    single = _arms(done)
    n = winner(done) or 1
    here, planned = single, plan.repetitions
    if plan.production_c > 1:
        here = {arm: _rates([i for i in done if i.stage.kind == PRODUCTION and i.stage.n_max == arm]) for arm in (n, OFF)}
        planned = next((i.stage.repetitions for i in done if i.stage.kind == PRODUCTION), planned)
    if not all(arms.get(arm) for arms in (single, here) for arm in (n, OFF)):
        return None
    one, there = (_word(arms[n], arms[OFF], first) for arms, first in ((single, plan.repetitions), (here, planned)))
    return Verdict(n, median(here[n]) / median(here[OFF]), there, one, one != there)


def _word(candidate: Sequence[float], off: Sequence[float], planned: int) -> str:
    if beats(candidate, off, planned):
        return "wins"
    return "loses" if beats(off, candidate, planned) else "no-difference"


def keeps(plan: Plan, done: Sequence[Measured]) -> bool:
    """Whether the run supports `keep`: it beats the baseline at production beyond noise and by 2 %, and the baseline did not move."""
    found = production_verdict(plan, done)
    return found is not None and found.verdict == "wins" and drifted(done) is False


def possible_stages(plan: Plan) -> List[Stage]:
    """Every stage a sweep may come to, in order, first visits only: what the run page lists before they happen. n_max -1: the winner."""
    stages = [Stage(BASELINE, OFF, 1, plan.repetitions)]
    for n in range(plan.first_n, plan.n_max + 1):
        stages.append(Stage(STEP, n, 1, plan.repetitions))
        if plan.order == INTERLEAVED and n == plan.first_n < plan.n_max:
            stages.append(Stage(BETWEEN, OFF, 1, plan.repetitions))
    stages.append(Stage(BASELINE_AGAIN, OFF, 1, plan.repetitions))
    if plan.production_c > 1:
        arms: List[int] = ([1, -1] if plan.n_max > 1 else [1]) + [OFF]
        stages += [Stage(PRODUCTION, n, plan.production_c, plan.repetitions) for n in arms]
    return stages + [Stage(LOAD, n, c, plan.repetitions) for c in sorted(plan.loads) for n in (-1, OFF)]


def flip_text(found: Verdict, c: int) -> str:
    """The sentence that reports a flip, "" where there is none."""
    if not found.flips:
        return ""
    return "%s %s at one stream and %s at c=%d." % (label(found.n_max), _TELLS[found.single], _TELLS[found.verdict], c)


_TELLS: Dict[str, str] = {"wins": "wins", "loses": "loses", "no-difference": "shows no difference"}
