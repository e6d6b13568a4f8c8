"""The single-stream search, replayed from what was measured: best n so far, is a comparison open, why the climb ends.

Pure; standard library only, Python 3.8: travels with the agent.
"""

from statistics import median
from typing import Dict, List, Optional, Sequence, Set

from core.domain.arms import BASELINE, BETWEEN, OFF, STEP, Measured, Plan, Stage, Stop, label, patience
from core.domain.looks import DIFFERENCE, UNDECIDED, extension, look, may_return, next_size, sees
from core.domain.stats import ABOVE


class Climb:
    """State after the given stages. `best`: the n that leads; `extend`: the stage an undecided look asks for."""

    def __init__(self, plan: Plan, done: Sequence[Measured]) -> None:
        self.plan = plan
        self.arms: Dict[int, List[float]] = {}
        self.best, self.missed, self.highest = OFF, 0, plan.first_n - 1
        self.extend: Optional[Stage] = None
        self.failed: Optional[Measured] = None
        self.baseline_failed: Optional[Measured] = None
        self._open: Optional[int] = None
        self._costs: Dict[int, List[float]] = {}
        self._positions: Dict[int, Sequence[float]] = {}
        self._seconds: Dict[int, List[float]] = {}
        self._loads: Dict[int, float] = {}
        self._tired: Set[int] = set()
        self._last = OFF
        self.spent_s = 0.0
        self.last_step: Optional[Measured] = None
        for item in done:
            if item.stage.kind not in (BASELINE, STEP, BETWEEN):
                break
            self._take(item)

    def _take(self, item: Measured) -> None:
        n = item.stage.n_max
        self.spent_s += item.took_s
        self._last = n
        self.extend = None
        if item.status == "ok":
            self._keep(n, item)
        elif not self._is_new(item):
            self._tired.add(n)
        elif item.stage.kind == STEP:
            self.failed, self._open = item, None
            return
        elif item.stage.kind == BASELINE:
            self.baseline_failed = item
            return
        if item.stage.kind == STEP and n > self.highest:
            self.last_step, self.highest, self._open = item, n, n
        if self._open is not None:
            self._look(self._open)
        elif self.highest == self.plan.first_n - 1:
            self.extend = self._longer_opening()

    def _is_new(self, item: Measured) -> bool:
        """Whether the arm had nothing before: then its failure is the arm's, not just the extra repetitions'."""
        return item.stage.n_max not in self.arms

    def _keep(self, n: int, item: Measured) -> None:
        self.arms.setdefault(n, []).extend(item.tok_per_s)
        self._costs.setdefault(n, []).extend(item.step_ms)
        if item.per_position:
            self._positions[n] = item.per_position
        self._seconds.setdefault(n, []).append((item.took_s - item.load_s) / (item.stage.repetitions + 1))
        if item.load_s:
            self._loads[n] = item.load_s

    def _longer_opening(self) -> Optional[Stage]:
        """More opening repetitions where those so far could not show a difference of 3 %: every later word rests on them."""
        count = len(self.arms[OFF])
        if OFF in self._tired or sees(self.arms[OFF], DIFFERENCE, self.plan.repetitions):
            return None
        more = next_size(count, self.plan) - count
        return Stage(BASELINE, OFF, 1, more) if more > 0 and self.affords(more) else None

    def _look(self, n: int) -> None:
        """Decides the open comparison, or asks for more repetitions."""
        found = look(self.arms[n], self.arms[self.best], self.plan.repetitions)
        if found == UNDECIDED:
            self.extend = self._extension(n)
            if self.extend is not None:
                return
        self._open = None
        if found == ABOVE:
            self.best, self.missed = n, 0
        else:
            self.missed += 1

    def _extension(self, n: int) -> Optional[Stage]:
        warm = "candidate" if self._last == n else "reference" if self._last == self.best else ""
        back = self.best if warm == "candidate" else n
        allowed = may_return(self.plan, self._loads.get(back, 0.0), median(self._seconds[back]))
        found = extension(self.plan, len(self.arms[n]), len(self.arms[self.best]), warm, allowed)
        if found is None or not self.affords(found[1]):
            return None
        arm = n if found[0] == "candidate" else self.best
        return None if arm in self._tired else Stage(BASELINE if arm == OFF else STEP, arm, 1, found[1])

    def affords(self, repetitions: int) -> bool:
        """Whether so many more repetitions leave time for the closing baseline and the production arms."""
        if not self.plan.budget_s or not self.spent_s:
            return True
        each = max((second for seconds in self._seconds.values() for second in seconds), default=0.0)
        load = max(self._loads.values(), default=0.0)
        closing = 1 if self.plan.production_c == 1 else 4
        rest = closing * (load + (self.plan.repetitions + 1) * each) + load + (repetitions + 1) * each
        return self.spent_s + rest <= self.plan.budget_s

    def stop(self) -> Optional[Stop]:
        """Why the climb ends here, or None while it goes on."""
        if self.baseline_failed is not None:
            return Stop("baseline_failed", "The baseline could not be measured: %s" % self.baseline_failed.reason)
        if self.failed is not None:
            return _stop_of_failure(self.failed)
        if self.last_step is None or self._open is not None:
            return None
        return self._no_gain() or self._reached() or self._cannot_pay() or self._out_of_time()

    def _no_gain(self) -> Optional[Stop]:
        if self.missed <= patience(self.plan):
            return None
        how = "is not faster than %s beyond noise" % label(self.best)
        counts = "%d against %d repetitions" % (len(self.arms[self.highest]), len(self.arms[self.best]))
        return Stop("no_gain", "%s %s (%s); longer drafts were not tried." % (label(self.highest), how, counts))

    def _reached(self) -> Optional[Stop]:
        if self.highest < self.plan.n_max:
            return None
        return Stop("n_max_reached", "n_max=%d is the longest draft that was asked for." % self.plan.n_max)

    def _cannot_pay(self) -> Optional[Stop]:
        """The marginal token: the least that one more position has cost so far ÷ the share of steps that would reach it.

        The least: the cheapest repetition of the longer draft less the dearest of the shorter one, over all n measured, so that
        noise and a single jump in cost cannot end a climb.
        """
        n = self.highest
        positions = self._positions.get(n, ())
        lows = [min(self._costs[k]) - max(self._costs[k - 1]) for k in range(2, n + 1) if self._costs.get(k) and self._costs.get(k - 1)]
        if len(positions) < n or len(lows) < 1 or len(lows) != n - 1 or n not in self.arms:
            return None
        share, present = positions[n - 1], 1000.0 / median(self.arms[n])
        if min(lows) <= 0 or (share > 0 and min(lows) / share <= present):
            return None
        price = "more than any" if share <= 0 else "%.1f ms for each token gained" % (min(lows) / share)
        return Stop(
            "next_cannot_pay",
            "One more position adds at least %.1f ms a step and is accepted in at most %.0f %% of steps: %s; a token takes %.1f ms now."
            % (min(lows), 100.0 * share, price, present),
        )

    def _out_of_time(self) -> Optional[Stop]:
        if self.affords(self.plan.repetitions):
            return None
        return Stop("time_budget", "The time budget of %.0f minutes leaves no room for a longer draft." % (self.plan.budget_s / 60.0))


def _stop_of_failure(item: Measured) -> Stop:
    name = label(item.stage.n_max)
    if item.code == "out_of_memory":
        return Stop("memory", "%s does not fit into memory: %s" % (name, item.reason))
    return Stop("step_failed", "%s could not be measured: %s" % (name, item.reason))
