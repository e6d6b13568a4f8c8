"""A thousand paper boxes a seed, swept by the rules that the agent follows: how often the protocol is right, and what it costs."""

from __future__ import annotations

import random
from collections import Counter
from functools import lru_cache
from itertools import pairwise

import pytest

from core.domain.sweep import OFF, Plan
from tests.simulator.boxes import LONGEST, draw
from tests.simulator.play import Outcome, figures, run

SEEDS = (20261129, 1, 2, 3)
DRAWN = [draw(random.Random(number)) for number in range(1000)]


@lru_cache
def outcomes(seed: int) -> list[Outcome]:
    return run(seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_protocol_is_right_often_enough_in_half_the_time(seed: int) -> None:
    found = figures(outcomes(seed))
    assert found["pick within 2%"] >= 0.95
    assert found["keep for a true loss"] <= 0.01
    assert found["keep for a true gain over 5%"] >= 0.90
    assert found["drifts over 8% flagged"] >= 0.95
    assert found["driftless flagged"] <= 0.05
    assert found["time of the full grid"] <= 0.50
    assert found["time of the full grid, summed"] <= 0.50


def test_the_sample_holds_enough_of_every_kind() -> None:
    everything = [one for seed in SEEDS for one in outcomes(seed)]
    found = figures(everything)
    assert len(everything) == 4000
    assert min(found["losses"], found["still"]) >= 1000
    assert min(found["gains"], found["far"], found["wins"]) >= 100
    assert len(Counter(one.pick for one in everything)) >= 6


def test_every_sweep_follows_the_order() -> None:
    for one in outcomes(SEEDS[0]):
        steps = list(dict.fromkeys(name for name in one.stages if name.startswith("n=") and " at " not in name))
        assert one.stages[0] == "baseline"
        assert steps == [f"n={n}" for n in range(1, len(steps) + 1)], "no step is skipped"
        assert "baseline again" in one.stages
        assert (f"off at c={one.box.production_c}" in one.stages) == (one.box.production_c > 1)
        assert one.pick == OFF or f"n={one.pick}" in steps


def test_boxes_are_drawn_from_the_ranges_that_were_named() -> None:
    ranges = {
        "h_ms": (2, 100), "d": (0.02, 0.9), "fixed": (0, 0.8), "marginal": (0.03, 1.0), "first": (0.4, 1.0), "decay": (0.8, 1.0),
        "noise": (0.003, 0.05), "drift": (0, 0.15),
    }  # fmt: skip
    for name, (low, high) in ranges.items():
        values = sorted(getattr(box, name) for box in DRAWN)
        assert low <= values[0] < low + 0.02 * (high - low)
        assert high - 0.02 * (high - low) < values[-1] <= high
        assert values[500] == pytest.approx((low + high) / 2, abs=0.06 * (high - low)), name
    assert sum(1 for box in DRAWN if box.kernel_at) == pytest.approx(200, abs=40)
    assert sum(1 for box in DRAWN if box.shape == "none") == pytest.approx(500, abs=50)


def test_a_box_prices_as_the_formulas_say() -> None:
    for box in DRAWN[:100]:
        assert box.speed(0) == pytest.approx(1000 / box.h_ms)
        a = 1 + sum(box.per_position[:3])
        assert box.speed(3) == pytest.approx(1000 * a / (box.step_in_h(3) * box.h_ms))
        assert all(later <= earlier for earlier, later in pairwise(box.per_position))
        assert box.step_in_h(2, 4) - box.step_in_h(2, 1) == pytest.approx(9 * box.marginal)


def test_the_same_seed_gives_the_same_sweeps() -> None:
    assert [one.stages for one in run(5, 20)] == [one.stages for one in run(5, 20)]


@pytest.mark.parametrize("order", ["block", "interleaved"])
def test_the_other_orders_keep_no_loss_and_flag_drift(order: str) -> None:
    found = figures(run(7, 300, order=order))
    assert found["keep for a true loss"] <= 0.01
    assert found["drifts over 8% flagged"] >= 0.9
    assert found["driftless flagged"] <= 0.05
    assert LONGEST == Plan(LONGEST).n_max
