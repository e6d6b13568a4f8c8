"""Plays the protocol's own rules on a paper box, and counts what they got right."""

from __future__ import annotations

import random
from dataclasses import dataclass
from statistics import mean

from core.domain.sweep import BASELINE, BASELINE_AGAIN, OFF, Measured, Plan, Stage, drifted, keeps, next_stage, stop_of, winner
from tests.simulator.boxes import LONGEST, TOKENS, Box, draw

OUTLIERS = 0.05


@dataclass
class Outcome:
    """One sweep: what was chosen and said (by the repeat where the first was marked as drifted), what is true, and the measuring time."""

    box: Box
    pick: int
    candidate: int
    keep: bool
    flagged: bool | None
    true_drift: float
    took_s: float
    grid_s: float
    stop: str
    stages: list[str]

    @property
    def loss_of_pick(self) -> float:
        """How far the pick stays below the true best at one stream, as a share."""
        return 1.0 - self.box.speed(self.pick) / self.box.speed(self.box.best_n())

    @property
    def true_gain(self) -> float:
        """Of the change under test, at the production concurrency."""
        return self.box.gain(self.candidate, self.box.production_c)

    @property
    def possible_gain(self) -> float:
        """Of the best n there is, at the production concurrency."""
        return self.box.gain(self.box.best_n(self.box.production_c), self.box.production_c)


class Bench:
    """Measures stages of a plan on a box; time passes as it does on a real one, engine starts included."""

    def __init__(self, box: Box, chance: random.Random) -> None:
        self._box, self._chance = box, chance
        self._arm = (-1, 0)
        self.at_s = self.measured_s = 0.0
        self.off_factors: dict[str, list[float]] = {BASELINE: [], BASELINE_AGAIN: []}

    def whole(self, plan: Plan) -> list[Measured]:
        """Stage after stage until the rules have none."""
        done: list[Measured] = []
        while (stage := next_stage(plan, done)) is not None:
            assert len(done) < 80
            done.append(self.measure(stage))
        self._arm = (-1, 0)
        return done

    def measure(self, stage: Stage) -> Measured:
        begun, load_s = self.at_s, 0.0
        if (stage.n_max, stage.c) != self._arm:
            load_s = self._box.load_s
            self.at_s += load_s
            self._arm = (stage.n_max, stage.c)
            self._one(stage)
        rates = [self._one(stage) for _ in range(stage.repetitions)]
        positions = [min(1.0, max(0.0, p + self._chance.gauss(0, 0.5 * (p * (1 - p) / 300) ** 0.5))) for p in self._box.per_position]
        a = 1.0 + sum(self._box.per_position[: stage.n_max])
        costs = tuple(1000.0 * a / rate for rate in rates) if stage.n_max and stage.c == 1 else ()
        return Measured(
            stage, tuple(rates), step_ms=costs, per_position=tuple(positions[: stage.n_max]), took_s=self.at_s - begun, load_s=load_s
        )

    def _one(self, stage: Stage) -> float:
        """One repetition: its rate; the clock moves on by what it took."""
        factor = self._box.moved(self.at_s)
        if stage.n_max == OFF and stage.c == 1 and stage.kind in self.off_factors:
            self.off_factors[stage.kind].append(factor)
        rate = self._box.speed(stage.n_max, stage.c) * factor * max(0.2, 1.0 + self._chance.gauss(0, self._box.noise))
        if self._chance.random() < OUTLIERS:
            rate *= self._chance.uniform(0.5, 0.9)
        took = TOKENS * stage.c / rate
        self.at_s += took
        self.measured_s += took
        return rate


def grid_seconds(box: Box, candidate: int) -> float:
    """The full grid: off and 1 … 8, 8 repetitions and a warm-up each; production of off, 1 and the candidate likewise."""
    search = [(n, 1) for n in range(LONGEST + 1)]
    production = [(n, box.production_c) for n in sorted({OFF, 1, candidate})] if box.production_c > 1 else []
    return sum(9 * TOKENS * c / box.speed(n, c) for n, c in search + production)


def sweep(box: Box, chance: random.Random, plan: Plan) -> Outcome:
    """One sweep on one box by the rules the agent follows; a run marked as drifted is repeated once, as its page asks for."""
    bench = Bench(box, chance)
    done = bench.whole(plan)
    opening, closing = (mean(factors) for factors in bench.off_factors.values())
    flagged, final = drifted(done), done
    if flagged:
        final = bench.whole(plan)
    pick = winner(final) or OFF
    stop = stop_of(plan, final)
    return Outcome(
        box, pick, pick or 1, keeps(plan, final), flagged, abs(closing / opening - 1.0), bench.measured_s,
        grid_seconds(box, pick or 1), stop.code if stop else "", [item.stage.name for item in final],
    )  # fmt: skip


def share(outcomes: list[Outcome], hits: list[Outcome]) -> float:
    return len(hits) / len(outcomes) if outcomes else float("nan")


def figures(outcomes: list[Outcome]) -> dict[str, float]:
    """The protocol's figures over many sweeps, as shares."""
    losses = [o for o in outcomes if o.true_gain < 0]
    gains = [o for o in outcomes if o.true_gain > 0.05]
    possible = [o for o in outcomes if o.possible_gain > 0.05]
    far = [o for o in outcomes if o.true_drift > 0.08]
    still = [o for o in outcomes if o.true_drift == 0]
    return {
        "pick within 2%": share(outcomes, [o for o in outcomes if o.loss_of_pick <= 0.02]),
        "keep for a true loss": share(losses, [o for o in losses if o.keep]),
        "keep for a true gain over 5%": share(gains, [o for o in gains if o.keep]),
        "keep where some n gains over 5%": share(possible, [o for o in possible if o.keep]),
        "drifts over 8% flagged": share(far, [o for o in far if o.flagged]),
        "driftless flagged": share(still, [o for o in still if o.flagged]),
        "time of the full grid": mean(o.took_s / o.grid_s for o in outcomes),
        "time of the full grid, summed": sum(o.took_s for o in outcomes) / sum(o.grid_s for o in outcomes),
        "losses": len(losses), "gains": len(gains), "far": len(far), "still": len(still),
        "wins": len([o for o in outcomes if o.box.best_n()]),
    }  # fmt: skip


def run(seed: int, boxes: int = 1000, *, drafts_at_once: bool = False, **changes: object) -> list[Outcome]:
    """So many boxes from a seed; `changes` go into the plan."""
    outcomes = []
    for number in range(boxes):
        box = draw(random.Random(f"box {number} of {seed}"), drafts_at_once=drafts_at_once)
        plan = Plan(**{"n_max": LONGEST, "production_c": box.production_c, "is_moe": False, "placement": "resident", **changes})
        outcomes.append(sweep(box, random.Random(f"sweep {number} of {seed}"), plan))
    return outcomes
