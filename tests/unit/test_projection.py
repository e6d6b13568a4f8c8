"""Projection from positions, the next-best cell, and the price tag: worked values, blanks, and what they refuse."""

import math

import pytest

from core.domain.next_cell import Brief, RowFacts, advise, best_of
from core.domain.price_tag import held_mib, price_tag
from core.domain.projection import expected_a, order_to_measure, positions_fault, project

POSITIONS = [0.90, 0.70, 0.50]


def test_expected_a_is_one_plus_the_positions_before_it():
    assert [round(expected_a(POSITIONS, n), 2) for n in (1, 2, 3)] == [1.90, 2.60, 3.10]


@pytest.mark.parametrize("positions", [[0.9, 0.95], [1.2], [-0.1], [math.nan], [math.inf, 0.5]])
def test_shares_that_cannot_be_are_refused(positions):
    assert positions_fault(positions)
    with pytest.raises(ValueError):
        expected_a(positions, 1)


@pytest.mark.parametrize("n", [0, 4])
def test_positions_do_not_tell_about_other_lengths(n):
    with pytest.raises(ValueError):
        expected_a(POSITIONS, n)


def test_a_speed_up_is_predicted_only_where_the_cost_of_that_n_was_measured():
    one, two = project(POSITIONS, 45.05, {1: (76.05, "own cell")}, {1: 1.185})
    assert (one.n_max, one.kind, one.measured, one.cost_from) == (1, "predicted", 1.185, "own cell")
    assert one.speedup == pytest.approx(1.90 * 45.05 / 76.05)
    assert (two.n_max, round(two.a, 2), two.step_ms, two.speedup) == (2, 2.6, None, None)


def test_what_to_measure_next_comes_best_prediction_first():
    costs = {1: (76.05, "pass"), 2: (90.0, "pass")}
    assert order_to_measure(project(POSITIONS + [0.4], 45.05, costs, {})) == [2, 1, 3]
    assert order_to_measure(project(POSITIONS, 45.05, costs, {1: 1.2})) == [2]
    assert project([0.9], 45.05, costs, {}) == []


OFF, WIN, LOSS, TIE = (
    Brief(repetitions=3),
    Brief("ok", "wins", 1.2, 0.8, 3),
    Brief("ok", "loses", 0.9, 0.8, 3),
    Brief("ok", "no-difference", 1.0, 0.8, 3),
)


@pytest.mark.parametrize(
    "row, what, change",
    [
        (RowFacts({1: Brief()}), "speculation off", "every verdict"),
        (RowFacts({0: OFF}), "n_max 1", "whether speculation pays"),
        (RowFacts({0: OFF, 3: LOSS}), "n_max 1", "from disable"),
        (RowFacts({0: OFF, 1: WIN}, drifted=True), "the whole run again", "verdicts holds"),
        (RowFacts({0: OFF, 1: WIN, 2: Brief("failed")}, production_c=1), "n_max 2 again", "best n"),
        (RowFacts({0: OFF, 1: TIE}), "up to 8 repetitions", "wins or loses"),
        (RowFacts({0: OFF, 1: WIN, 2: LOSS}, production_c=4), "n_max 1 and off at c=4", "gate for keep"),
        (RowFacts({0: OFF, 1: WIN}, production_c=1, last_position=0.9), "n_max 2", "keep to widen"),
        (RowFacts({0: OFF, 1: WIN, 3: LOSS}, predicted={2: 1.4}), "n_max 2", "n_max 2"),
        (RowFacts({0: OFF, 1: LOSS}, spilled=True), "less on the host", "disable to keep"),
        (RowFacts({0: OFF, 1: Brief("ok", "loses", 0.9, None, None)}), "the engine's counts", "break-even"),
    ],
)
def test_the_next_best_cell(row, what, change):
    first = advise(row)[0]
    assert what in first.what and change in first.could_change and first.rank == 0 and first.minutes is None


@pytest.mark.parametrize(
    "row",
    [
        RowFacts({}),
        RowFacts({0: OFF, 1: WIN, 2: LOSS}, production_c=1),
        RowFacts({0: OFF, 1: WIN, 2: LOSS}, production={1: WIN}, production_c=4),
        RowFacts({0: OFF, 1: WIN}, last_position=0.2),
        RowFacts({0: OFF, 1: WIN, 3: LOSS}, predicted={2: 1.1}),
        RowFacts({0: OFF, 1: Brief("ok", "no-difference", 1.0, 0.8, 8), 2: LOSS}),
    ],
)
def test_nothing_is_advised_where_nothing_is_open(row):
    assert advise(row) == []


def test_minutes_come_from_what_an_arm_took_and_decisions_are_named():
    (advice,) = advise(RowFacts({0: OFF, 1: WIN}, last_position=0.9, arm_s=60.0, rests=("KEEP by Ada",)))
    assert advice.minutes == 4.0 and advice.rests == ("KEEP by Ada",), "baseline, 1, 2, baseline again"
    assert best_of(RowFacts({0: OFF, 1: WIN, 2: WIN})) == 1, "the smaller n wins a tie"


LOG = {"device_mib": {"CUDA0": 9000.0}, "kv_mib": 512.0, "compute_mib": {"CUDA0": 300.0}, "host_mib": 100.0}


def test_the_price_tag_compares_both_sides_and_leaves_blanks_blank():
    base = {"held_mib": held_mib(LOG), "prefill_tok_per_s": 400.0, "ttft_ms": 80.0}
    cand = {"held_mib": held_mib({**LOG, "kv_mib": 640.0}), "prefill_tok_per_s": 380.0, "ttft_ms": None}
    moved = {"placement": ({"n_cpu_moe": 14, "host_mib": 1}, {"n_cpu_moe": 16, "host_mib": 2}), "n_max": (0, 1), "context": (8192, 4096)}
    tags = {tag.key: tag for tag in price_tag(base, cand, differences=moved, minutes=2.5, run_minutes=None)}
    assert tags["memory"].change == 128.0 and tags["prefill"].change == -20.0
    assert tags["ttft"].state == "not_recorded" and tags["ttft"].change is None
    assert tags["given_up"].text == "context 8192 → 4096; n_cpu_moe 14 → 16"
    assert tags["minutes"].candidate == 2.5 and tags["run_minutes"].state == "not_recorded"
    assert price_tag({}, {}, differences=None, minutes=None, run_minutes=None)[3].state == "not_recorded"


def test_memory_is_told_only_where_the_log_tells_it():
    assert held_mib(LOG) == 9812.0 and held_mib({"device_mib": {}, "host_mib": 50.0, "kv_mib": 1.0}) == 51.0
    assert held_mib(None) is None and held_mib({"kv_mib": 1.0}) is None and held_mib({"device_mib": {"a": 1.0}}) is None
