"""The sweep protocol: which arm comes next, when to stop, who wins. Pure; standard library only, Python 3.8: travels with the agent.

An arm is (n_max, concurrency); n_max 0 is the baseline, shown as `off`. Rules: design words in docs/protocol.md.
"""

from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from core.domain.stats import ABOVE, compare, is_drifted

OFF = 0
BASELINE, STEP, BASELINE_AGAIN, PRODUCTION = "baseline", "step", "baseline-again", "production"


@dataclass(frozen=True)
class Plan:
    """What was asked. `placement`: resident | spilled | host-only | unknown. Concurrency in streams."""

    n_max: int
    repetitions: int = 3
    production_c: int = 1
    is_moe: bool = True
    placement: str = "unknown"
    first_n: int = 1


@dataclass(frozen=True)
class Stage:
    """One arm to measure: `kind`, n_max (0 = off), concurrency, counted warm repetitions."""

    kind: str
    n_max: int
    c: int
    repetitions: int

    @property
    def name(self) -> str:
        arm = "off" if self.n_max == OFF else "n=%d" % self.n_max
        return {BASELINE: "baseline", STEP: arm, BASELINE_AGAIN: "baseline again"}.get(self.kind, "%s at c=%d" % (arm, self.c))


@dataclass(frozen=True)
class Measured:
    """A finished stage: warm decode rates (tok/s) that may be counted, and its status ok | failed."""

    stage: Stage
    tok_per_s: Tuple[float, ...]
    status: str = "ok"
    reason: str = ""


@dataclass(frozen=True)
class Stop:
    """Why no further n is tried: a code for machines and a sentence for people."""

    code: str
    text: str


def problems_of(plan: Plan) -> Dict[str, str]:
    """What is wrong with a plan, by field; empty when it may run."""
    found = {}
    if not 1 <= plan.n_max <= 16:
        found["n_max"] = "n_max has to lie between 1 and 16."
    if not 3 <= plan.repetitions <= 8:
        found["repetitions"] = "A cell needs 3 to 8 warm repetitions."
    if not 1 <= plan.production_c <= 64:
        found["production_c"] = "Production concurrency has to lie between 1 and 64 streams."
    if plan.first_n != 1:
        if plan.is_moe and plan.placement != "resident":
            found["first_n"] = "On a mixture of experts that is not fully on the GPU a sweep starts at n_max 1."
        else:
            found["first_n"] = "Steps are not skipped: a sweep starts at n_max 1."
    return found


def patience(plan: Plan) -> int:
    """Steps without a gain that are tried once more before stopping: one on a dense model whose placement is known and not spilled."""
    return 1 if not plan.is_moe and plan.placement in ("resident", "host-only") else 0


def _arms(done: Sequence[Measured]) -> Dict[int, List[float]]:
    """Warm rates of the single-stream search, by n; the baseline is all its warm samples."""
    arms = {}  # type: Dict[int, List[float]]
    for item in done:
        if item.stage.kind != PRODUCTION and item.status == "ok":
            arms.setdefault(item.stage.n_max, []).extend(item.tok_per_s)
    return arms


def winner_of(arms: Mapping[int, Sequence[float]]) -> Optional[int]:
    """The n that beats every smaller n, off included, beyond noise; the smaller n wins a tie. None without a baseline."""
    if not arms.get(OFF):
        return None
    best = OFF
    for n in sorted(arms):
        if n != best and compare(arms[n], arms[best]).verdict == ABOVE:
            best = n
    return best


def winner(done: Sequence[Measured]) -> Optional[int]:
    """The winning n_max of the single-stream search so far."""
    return winner_of(_arms(done))


def _label(n: int) -> str:
    return "off" if n == OFF else "n_max=%d" % n


def stop_of(plan: Plan, done: Sequence[Measured]) -> Optional[Stop]:
    """Why the climb ends here, or None while the next n may be tried. What the closing baseline adds does not open it again."""
    kinds = [item.stage.kind for item in done]
    if BASELINE_AGAIN in kinds:
        done = done[: kinds.index(BASELINE_AGAIN)]
    steps = [item for item in done if item.stage.kind == STEP]
    baseline = [item for item in done if item.stage.kind == BASELINE]
    if baseline and baseline[-1].status != "ok":
        return Stop("baseline_failed", "The baseline could not be measured: %s" % baseline[-1].reason)
    if not steps:
        return None
    last = steps[-1]
    if last.status != "ok":
        return Stop("step_failed", "%s could not be measured: %s" % (_label(last.stage.n_max), last.reason))
    without_gain, best = _steps_without_gain(done)
    if without_gain > patience(plan):
        how = "is not faster than %s beyond noise" % _label(best)
        return Stop("no_gain", "%s %s; longer drafts were not tried." % (_label(last.stage.n_max), how))
    if last.stage.n_max >= plan.n_max:
        return Stop("n_max_reached", "n_max=%d is the longest draft that was asked for." % plan.n_max)
    return None


def _steps_without_gain(done: Sequence[Measured]) -> Tuple[int, int]:
    """How many of the latest steps in a row did not beat the best smaller n, and that best n."""
    arms = _arms(done)
    best, missed = OFF, 0
    for n in sorted(n for n in arms if n != OFF):
        if compare(arms[n], arms[best]).verdict == ABOVE:
            best, missed = n, 0
        else:
            missed += 1
    return missed, best


def next_stage(plan: Plan, done: Sequence[Measured]) -> Optional[Stage]:
    """The next arm to measure, None when the sweep is complete. Call with everything measured so far, in order."""
    kinds = [item.stage.kind for item in done]
    if BASELINE not in kinds:
        return Stage(BASELINE, OFF, 1, plan.repetitions)
    stop = stop_of(plan, done)
    if stop is None:
        return Stage(STEP, 1 + max([i.stage.n_max for i in done if i.stage.kind == STEP] or [0]), 1, plan.repetitions)
    if stop.code == "baseline_failed":
        return None
    if BASELINE_AGAIN not in kinds:
        return Stage(BASELINE_AGAIN, OFF, 1, plan.repetitions)
    for n in _production_arms(plan, done):
        if not any(i.stage.kind == PRODUCTION and i.stage.n_max == n for i in done):
            return Stage(PRODUCTION, n, plan.production_c, plan.repetitions)
    return None


def _production_arms(plan: Plan, done: Sequence[Measured]) -> List[int]:
    """Winner and baseline again at the production concurrency; where off wins, n_max=1 stands for the change under test."""
    if plan.production_c == 1:
        return []  # the single-stream cells are the production cells
    measured = [i.stage.n_max for i in done if i.stage.kind == STEP and i.status == "ok"]
    if not measured:
        return [OFF]
    return [winner(done) or min(measured), OFF]


def possible_stages(plan: Plan) -> List[Stage]:
    """Every stage a sweep may come to, in order: what the run page lists before they happen."""
    stages = [Stage(BASELINE, OFF, 1, plan.repetitions)]
    stages += [Stage(STEP, n, 1, plan.repetitions) for n in range(1, plan.n_max + 1)]
    stages.append(Stage(BASELINE_AGAIN, OFF, 1, plan.repetitions))
    if plan.production_c > 1:
        stages += [Stage(PRODUCTION, n, plan.production_c, plan.repetitions) for n in (-1, OFF)]
    return stages


def drifted(done: Sequence[Measured]) -> Optional[bool]:
    """Whether the baseline moved between start and end; None where it was not measured twice."""
    first = [i for i in done if i.stage.kind == BASELINE and i.status == "ok"]
    again = [i for i in done if i.stage.kind == BASELINE_AGAIN and i.status == "ok"]
    if not first or not again:
        return None
    return is_drifted(first[-1].tok_per_s, again[-1].tok_per_s)
