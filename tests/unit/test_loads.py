"""Further concurrencies: winner and baseline once more at each, after everything a decision needs, and never at its cost."""

import pytest

from core.domain.run import SweepRequest
from core.domain.sweep import Measured, Plan, drifted, keeps, next_stage, possible_stages, problems_of, production_verdict, winner
from core.errors import InvalidInput
from tests.unit.test_sweep import DENSE, names, play

RATES = {
    (0, 1): 20.0,
    (1, 1): 30.0,
    (2, 1): 40.0,
    (1, 4): 65.0,
    (2, 4): 90.0,
    (0, 4): 70.0,
    (2, 2): 60.0,
    (0, 2): 35.0,
    (2, 8): 95.0,
    (0, 8): 99.0,
}


def test_they_come_last_in_order_for_winner_and_baseline():
    done = play(Plan(2, production_c=4, loads=(8, 2), **DENSE), RATES)
    assert names(done)[-4:] == ["n=2 at c=2", "off at c=2", "n=2 at c=8", "off at c=8"]
    assert names(done)[-7:-4] == ["n=1 at c=4", "n=2 at c=4", "off at c=4"]


def test_they_change_no_verdict():
    plan = Plan(2, production_c=4, loads=(2, 8), **DENSE)
    done = play(plan, RATES)
    without = [item for item in done if item.stage.kind != "load"]
    assert (winner(done), drifted(done), keeps(plan, done)) == (winner(without), drifted(without), keeps(plan, without))
    assert production_verdict(plan, done) == production_verdict(plan, without)


def test_without_a_production_concurrency_they_still_come_last():
    done = play(Plan(1, loads=(2,), **DENSE), {(0, 1): 20, (1, 1): 30, (1, 2): 40, (0, 2): 30})
    assert names(done) == ["baseline", "n=1", "baseline again", "n=1 at c=2", "off at c=2"]


def test_where_off_wins_the_change_is_measured_all_the_same():
    done = play(Plan(2, is_moe=True, loads=(2,)), {(0, 1): 20, (1, 1): 10, (1, 2): 15, (0, 2): 30})
    assert names(done)[-2:] == ["n=1 at c=2", "off at c=2"] and winner(done) == 0


def test_a_failed_arm_is_not_tried_at_many_streams():
    done = play(Plan(1, loads=(2,), **DENSE), {(0, 1): 20, (0, 2): 30}, failing={(1, 1)})
    assert names(done)[-1] == "off at c=2" and "n=1 at c=2" not in names(done)


@pytest.mark.parametrize(("budget_s", "expected"), [(0.0, 4), (75.0, 2), (40.0, 0)])
def test_they_respect_the_time_budget(budget_s, expected):
    """Every visit takes ten seconds: five before them, so 75 s leave room for two more, and 40 s for none."""
    plan = Plan(1, production_c=2, loads=(4, 8), budget_s=budget_s, **DENSE)
    rates = {(n, c): (20.0 + 10 * n) * c for n in (0, 1) for c in (1, 2, 4, 8)}
    done = []
    while (stage := next_stage(plan, done)) is not None:
        done.append(Measured(stage, tuple(rates[stage.n_max, stage.c] * (1 + 0.002 * i) for i in range(3)), took_s=10.0, load_s=1.0))
    assert sum(item.stage.kind == "load" for item in done) == expected


@pytest.mark.parametrize("loads", [(1,), (65,), (2, 2), (4,)])
def test_refused(loads):
    assert "loads" in problems_of(Plan(2, production_c=4, loads=loads))


def test_the_field_that_is_wrong_is_named_as_the_form_knows_it():
    request = SweepRequest(title="t", box_id="b", engine_id="e", model="m", workload_id="w", also_c=[1])
    with pytest.raises(InvalidInput) as caught:
        request.plan(is_moe=False, placement="host-only")
    assert set(caught.value.problems) == {"also_c"}


def test_they_are_announced():
    stages = possible_stages(Plan(1, loads=(8, 2)))
    assert [(s.kind, s.n_max, s.c) for s in stages[-4:]] == [("load", -1, 2), ("load", 0, 2), ("load", -1, 8), ("load", 0, 8)]
