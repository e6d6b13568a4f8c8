"""The words of a sweep: what was asked, one arm to measure, what came of it, why it ends. Standard library only, Python 3.8: travels.

An arm is (n_max, concurrency); n_max 0 is the baseline, shown as `off`. An arm can be visited more than once: then several stages
carry the same name, and their repetitions belong together.
"""

from dataclasses import asdict, dataclass
from typing import Any, Dict, Tuple

OFF = 0
BASELINE, STEP, BETWEEN, BASELINE_AGAIN, PRODUCTION = "baseline", "step", "baseline-between", "baseline-again", "production"
FORCED_ALL, FORCED_NONE, SUITE = "forced-all", "forced-none", "suite"  # after the sweep: they decide nothing in it
FORCED_REPETITIONS = 3  # of each forced point
LOAD = "load"  # winner and baseline at a further concurrency, after everything a decision needs
ABBA, INTERLEAVED, BLOCK = "abba", "interleaved", "block"
MAX_REPETITIONS = 8  # a side, however undecided
MOST_STREAMS = 64
LONGEST_BUDGET_S = 30 * 86400.0


@dataclass(frozen=True)
class Plan:
    """What was asked. `placement`: resident | spilled | host-only | unknown. Concurrency in streams; `budget_s` 0: no time budget.
    `max_repetitions`: a side, however undecided, 8 at most. `loads`: further concurrencies, for winner and baseline, at the end.

    `order`: abba goes back to the other arm where a comparison is undecided and a restart is not too dear, interleaved measures
    the baseline between any two steps too, block never goes back before the closing baseline. `first_n`: 1, or on a further segment
    of an interrupted run (`segment_of`, its id) the n its climb goes on with; the baseline is measured anew, a speed-up stays in one run.
    """

    n_max: int
    repetitions: int = 3
    production_c: int = 1
    is_moe: bool = True
    placement: str = "unknown"
    first_n: int = 1
    order: str = ABBA
    budget_s: float = 0.0
    max_repetitions: int = MAX_REPETITIONS
    loads: Tuple[int, ...] = ()
    segment_of: str = ""


@dataclass(frozen=True)
class Stage:
    """One visit to an arm: `kind`, n_max (0 = off), concurrency, counted warm repetitions of this visit."""

    kind: str
    n_max: int
    c: int
    repetitions: int

    @property
    def name(self) -> str:
        arm = "off" if self.n_max == OFF else "n=%d" % self.n_max
        plain = {BASELINE: "baseline", STEP: arm, BETWEEN: "baseline between", BASELINE_AGAIN: "baseline again"}
        plain.update({FORCED_ALL: "%s, all accepted" % arm, FORCED_NONE: "%s, none accepted" % arm, SUITE: "suites, %s" % arm})
        return plain.get(self.kind, "%s at c=%d" % (arm, self.c))

    def as_json(self) -> Dict[str, Any]:
        """As the ledger has it, with its name."""
        return dict(asdict(self), name=self.name)


@dataclass(frozen=True)
class Measured:
    """A finished stage: warm decode rates (tok/s) that may be counted, its status ok | failed, a code and a reason where it failed.

    `step_ms`: D + V by repetition; `per_position`: P_i of the arm, unconditional; `took_s`: the whole visit, `load_s` of it for
    starting the engine (0: it was still up). Empty or 0 where unknown.
    """

    stage: Stage
    tok_per_s: Tuple[float, ...]
    status: str = "ok"
    reason: str = ""
    code: str = ""
    step_ms: Tuple[float, ...] = ()
    per_position: Tuple[float, ...] = ()
    took_s: float = 0.0
    load_s: float = 0.0


@dataclass(frozen=True)
class Stop:
    """Why no further n is tried: a code for machines and a sentence for people."""

    code: str
    text: str


def label(n: int) -> str:
    """How an arm is called in a sentence."""
    return "off" if n == OFF else "n_max=%d" % n


def cancelled(who: str) -> Stop:
    """The stop of a run that a person ended."""
    return Stop("cancelled", "Stopped by %s." % who)


def patience(plan: Plan) -> int:
    """Steps without a gain that are tried once more before stopping: one on a dense model whose placement is known and not spilled."""
    return 1 if not plan.is_moe and plan.placement in ("resident", "host-only") else 0


def problems_of(plan: Plan) -> Dict[str, str]:
    """What is wrong with a plan, by field; empty when it may run."""
    found = {}
    if not 1 <= plan.n_max <= 16:
        found["n_max"] = "n_max has to lie between 1 and 16."
    if not 3 <= plan.repetitions <= MAX_REPETITIONS:
        found["repetitions"] = "A cell needs 3 to 8 warm repetitions."
    if not plan.repetitions <= plan.max_repetitions <= MAX_REPETITIONS:
        found["max_repetitions"] = "The most repetitions have to lie between those of a first visit and 8."
    if not 1 <= plan.production_c <= MOST_STREAMS:
        found["production_c"] = "Production concurrency has to lie between 1 and 64 streams."
    if plan.order not in (ABBA, INTERLEAVED, BLOCK):
        found["order"] = "The order has to be abba, interleaved or block."
    if not 0.0 <= plan.budget_s <= LONGEST_BUDGET_S:
        found["budget_s"] = "The time budget has to lie between 0 (none) and 30 days, in seconds."
    if not all(2 <= c <= MOST_STREAMS and c != plan.production_c for c in plan.loads) or len(set(plan.loads)) < len(plan.loads):
        found["loads"] = "Further concurrencies have to be different ones of 2 to 64 streams, other than production's."
    if plan.first_n != 1 and not plan.segment_of:
        found["first_n"] = _why_not_first(plan)
    elif not 1 <= plan.first_n <= max(plan.n_max, 1):
        found["first_n"] = "A segment goes on with an n_max between 1 and the longest that was asked for."
    return found


def _why_not_first(plan: Plan) -> str:
    if plan.is_moe and plan.placement != "resident":
        return "On a mixture of experts that is not fully on the GPU a sweep starts at n_max 1."
    return "Steps are not skipped: a sweep starts at n_max 1."
