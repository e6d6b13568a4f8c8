"""The rules beyond the plain climb: extra repetitions and their order, drift, marginal token, budget, memory, production and its flips."""

import pytest

from core.domain.arms import Measured, Plan, Stage, cancelled
from core.domain.climb import Climb
from core.domain.looks import beats, drift_look, extension, look, may_return, noise_plan, sees, spread_of, too_long
from core.domain.sweep import drifted, flip_text, keeps, next_stage, production_verdict, stop_of, winner, winner_of

DENSE = {"is_moe": False, "placement": "resident"}
QUIET = (1.0, 0.999, 1.001, 1.0, 0.998, 1.002, 1.0, 1.001)
NOISY = (1.0, 0.93, 1.06, 0.97, 1.04, 0.95, 1.02, 0.99)


def play(plan, speeds, *, shakes=QUIET, failing=(), took_s=0.0, load_s=0.0, moves=None, figures=None):
    """Runs a plan: rate by (n, c) × a factor by repetition of the arm; `failing`: visits by number; `moves`: factor by stage kind."""
    done = []
    while (stage := next_stage(plan, done)) is not None:
        assert len(done) < 60
        before = sum(len(item.tok_per_s) for item in done if item.stage.name == stage.name)
        if len(done) in failing:
            done.append(Measured(stage, (), "failed", "the engine died", "engine_died", took_s=took_s))
            continue
        rate = speeds[(stage.n_max, stage.c)] * (moves or {}).get(stage.kind, 1.0)
        shake = shakes.get((stage.n_max, stage.c), QUIET) if isinstance(shakes, dict) else shakes
        rates = tuple(rate * shake[(before + i) % len(shake)] for i in range(stage.repetitions))
        costs, positions = (figures or {}).get(stage.n_max, ((), ()))
        done.append(Measured(stage, rates, step_ms=costs, per_position=positions, took_s=took_s, load_s=load_s))
    return done


def visits(done):
    return [(item.stage.name, item.stage.repetitions) for item in done]


def test_a_clear_step_needs_no_extra_repetition():
    done = play(Plan(1, **DENSE), {(0, 1): 20, (1, 1): 30})
    assert visits(done) == [("baseline", 3), ("n=1", 3), ("baseline again", 3)]


def test_an_undecided_step_is_extended_a_b_b_a_up_to_eight_a_side():
    done = play(Plan(1, **DENSE), {(0, 1): 100, (1, 1): 102.5}, shakes={(1, 1): NOISY})
    assert visits(done)[:7] == [
        ("baseline", 3),
        ("n=1", 3),
        ("n=1", 2),
        ("baseline", 2),
        ("baseline", 3),
        ("n=1", 3),
        ("baseline again", 3),
    ]
    assert stop_of(Plan(1, **DENSE), done).code == "n_max_reached" and winner(done) == 0, "no difference shown is a result"


def test_a_noisy_opening_is_lengthened_before_anything_rests_on_it():
    done = play(Plan(1, **DENSE), {(0, 1): 100, (1, 1): 200}, shakes=NOISY)
    assert visits(done) == [("baseline", 3), ("baseline", 2), ("baseline", 3), ("n=1", 3), ("baseline again", 8)]


def test_fewer_repetitions_can_be_the_most():
    done = play(Plan(1, max_repetitions=5, **DENSE), {(0, 1): 100, (1, 1): 102.5}, shakes={(1, 1): NOISY})
    assert visits(done) == [("baseline", 3), ("n=1", 3), ("n=1", 2), ("baseline", 2), ("baseline again", 3)]
    noisy = play(Plan(1, max_repetitions=5, **DENSE), {(0, 1): 100, (1, 1): 200}, shakes=NOISY)
    assert visits(noisy) == [("baseline", 3), ("baseline", 2), ("n=1", 3), ("baseline again", 5)]


def test_block_order_extends_only_the_arm_that_is_up():
    done = play(Plan(1, order="block", **DENSE), {(0, 1): 100, (1, 1): 102.5}, shakes={(1, 1): NOISY})
    assert visits(done) == [("baseline", 3), ("n=1", 3), ("n=1", 5), ("baseline again", 3)]


def test_a_dear_restart_is_not_worth_going_back():
    found = play(Plan(1, **DENSE), {(0, 1): 100, (1, 1): 102.5}, shakes={(1, 1): NOISY}, took_s=304.0, load_s=300.0)
    assert visits(found)[1:3] == [("n=1", 3), ("n=1", 5)]
    assert may_return(Plan(1), 60.0, 10.0) and not may_return(Plan(1), 300.0, 1.0) and not may_return(Plan(1, order="block"), 0.0, 1.0)


def test_a_step_shown_not_to_gain_ends_without_extra_repetitions():
    done = play(Plan(3, is_moe=True), {(0, 1): 100, (1, 1): 100.5})
    assert visits(done) == [("baseline", 3), ("n=1", 3), ("baseline again", 3)]
    assert "3 against 3 repetitions" in stop_of(Plan(3), done).text


def test_extra_repetitions_that_fail_leave_what_was_measured():
    done = play(Plan(1, **DENSE), {(0, 1): 100, (1, 1): 102.5}, shakes={(1, 1): NOISY}, failing={2})
    assert visits(done)[:4] == [("baseline", 3), ("n=1", 3), ("n=1", 2), ("baseline again", 3)]
    assert stop_of(Plan(1, **DENSE), done).code == "n_max_reached" and winner(done) == 0
    again = play(Plan(1, **DENSE), {(0, 1): 100, (1, 1): 200}, shakes=NOISY, failing={1})
    assert visits(again) == [
        ("baseline", 3),
        ("baseline", 2),
        ("n=1", 3),
        ("baseline again", 3),
        ("baseline again", 2),
        ("baseline again", 3),
    ]


def test_interleaved_measures_the_baseline_between_steps_and_sees_drift_there():
    plan = Plan(2, order="interleaved", **DENSE)
    done = play(plan, {(0, 1): 100, (1, 1): 140, (2, 1): 180})
    assert [name for name, _ in visits(done)] == ["baseline", "n=1", "baseline between", "n=2", "baseline again"]
    assert drifted(done) is False
    assert drifted(play(plan, {(0, 1): 100, (1, 1): 140, (2, 1): 180}, moves={"baseline-between": 0.9})) is True


@pytest.mark.parametrize(("again", "shakes", "expected"), [
    (0.90, QUIET, "drifted"), (0.97, QUIET, "steady"), (1.10, QUIET, "drifted"), (1.0, NOISY, "undecided"), (0.955, QUIET, "steady"),
])  # fmt: skip
def test_a_look_at_drift(again, shakes, expected):
    assert drift_look([100 * f for f in shakes[:3]], [100 * again * f for f in shakes[:3]]) == expected


def test_an_undecided_drift_gets_more_closing_repetitions():
    done = play(
        Plan(1, **DENSE), {(0, 1): 100, (1, 1): 200}, moves={"baseline-again": 0.951}, shakes={(0, 1): (1.0, 0.999, 0.998, 1.004, 1.01)}
    )
    assert visits(done)[2:] == [("baseline again", 3), ("baseline again", 2)], "then 5 % is ruled out"


FIGURES = {1: ((12.0, 12.1, 12.2), (0.7,)), 2: ((18.0, 18.1, 18.2), (0.7, 0.3)), 3: ((24.0, 24.1, 24.2), (0.7, 0.3, 0.1))}


def test_the_next_position_cannot_pay():
    plan, speeds = Plan(6, **DENSE), {(0, 1): 100, (1, 1): 141, (2, 1): 150, (3, 1): 400}
    found = stop_of(plan, play(plan, speeds, figures=FIGURES))
    assert found.code == "next_cannot_pay"
    assert "5.8 ms a step" in found.text and "30 % of steps" in found.text and "19.3 ms for each token gained" in found.text


def test_the_marginal_rule_needs_figures_beyond_their_own_noise():
    plan, speeds = Plan(3, **DENSE), {(0, 1): 100, (1, 1): 141, (2, 1): 150, (3, 1): 160}
    noisy = {**FIGURES, 1: ((12.0, 12.1, 19.0), (0.7,))}
    assert stop_of(plan, play(plan, speeds, figures=noisy)).code == "n_max_reached"
    assert stop_of(plan, play(plan, speeds)).code == "n_max_reached"
    short = {**FIGURES, 2: (FIGURES[2][0], (0.7,))}
    assert stop_of(plan, play(plan, speeds, figures=short)).code == "n_max_reached"
    never = {**FIGURES, 2: (FIGURES[2][0], (0.7, 0.0))}
    assert "more than any" in stop_of(plan, play(plan, speeds, figures=never)).text


def test_a_time_budget_leaves_room_for_the_end():
    speeds = {(n, 1): 100 + 20 * n for n in range(9)} | {(n, 2): 100 + 20 * n for n in range(9)}
    plan = Plan(8, budget_s=400.0, **DENSE)
    done = play(plan, speeds, took_s=50.0)
    assert stop_of(plan, done).code == "time_budget" and "7 minutes" in stop_of(plan, done).text
    assert sum(item.took_s for item in done) <= 400.0
    tight = play(Plan(8, budget_s=1.0, **DENSE), speeds, took_s=50.0)
    assert visits(tight) == [("baseline", 3), ("n=1", 3), ("baseline again", 3)], "baseline, one step and the drift check are the least"
    noisy = play(Plan(1, budget_s=1.0, **DENSE), speeds, took_s=50.0, shakes=NOISY)
    assert visits(noisy) == [("baseline", 3), ("n=1", 3), ("baseline again", 3)], "no extra repetitions beyond the budget"
    production = play(Plan(8, budget_s=400.0, production_c=2, **DENSE), speeds, took_s=50.0)
    assert [item.stage.kind for item in production].count("production") == 3


def test_memory_and_other_failures_are_told_apart():
    done = [
        Measured(Stage("baseline", 0, 1, 3), (20.0, 20.1, 20.2)),
        Measured(Stage("step", 1, 1, 3), (), "failed", "no room", "out_of_memory"),
    ]
    assert stop_of(Plan(3), done).code == "memory" and "no room" in stop_of(Plan(3), done).text
    assert stop_of(Plan(3), [done[0], Measured(Stage("step", 1, 1, 3), (), "failed", "gone", "engine_died")]).code == "step_failed"
    assert cancelled("Ada").text == "Stopped by Ada." and cancelled("Ada").code == "cancelled"


def test_production_reports_a_flip_and_keep_follows_production():
    plan = Plan(2, production_c=4, **DENSE)
    single = {(0, 1): 20, (1, 1): 30, (2, 1): 40}
    lost = play(plan, single | {(0, 4): 70, (1, 4): 65, (2, 4): 60})
    found = production_verdict(plan, lost)
    assert (found.n_max, found.verdict, found.single, found.flips) == (2, "loses", "wins", True)
    assert flip_text(found, 4) == "n_max=2 wins at one stream and loses at c=4." and not keeps(plan, lost)
    won = play(plan, single | {(0, 4): 70, (1, 4): 75, (2, 4): 80})
    assert keeps(plan, won) and flip_text(production_verdict(plan, won), 4) == ""
    assert not keeps(plan, play(plan, single | {(0, 4): 70, (1, 4): 75, (2, 4): 80}, moves={"baseline-again": 0.9})), "drift"
    assert not keeps(plan, won[:-1]), "the baseline at production is missing"


def test_an_undecided_production_is_extended_on_the_side_that_is_up():
    plan = Plan(1, production_c=2, **DENSE)
    done = play(plan, {(0, 1): 20, (1, 1): 30, (0, 2): 40, (1, 2): 41.2}, shakes={(1, 2): NOISY})
    made = [pair for pair in visits(done) if "c=2" in pair[0]]
    assert made == [("n=1 at c=2", 3), ("off at c=2", 3), ("off at c=2", 2), ("n=1 at c=2", 2), ("n=1 at c=2", 3), ("off at c=2", 3)]
    assert production_verdict(plan, done).verdict == "no-difference" and production_verdict(plan, done).flips


def test_at_one_stream_the_search_is_the_production():
    plan = Plan(2, **DENSE)
    done = play(plan, {(0, 1): 20, (1, 1): 30, (2, 1): 31})
    assert production_verdict(plan, done).n_max == 2 and keeps(plan, done)
    assert not keeps(plan, play(plan, {(0, 1): 20, (1, 1): 15, (2, 1): 10}))
    assert production_verdict(plan, []) is None and drifted([]) is None and winner([]) is None


def test_added_repetitions_need_the_stricter_limit():
    off, on = [1, 2, 3, 4, 5, 6, 7, 20], [2.5, 8, 9, 10, 11, 12, 13, 14]
    assert beats(on, off, planned=8) and not beats(on, off, planned=3)
    assert winner_of({0: off, 1: on}, 8) == 1 and winner_of({0: off, 1: on}) == 0
    assert look([1.0, 1.1], [1.0, 1.1, 1.2], 3) == "undecided"


@pytest.mark.parametrize(("counts", "warm", "back", "expected"), [
    ((3, 3), "candidate", True, ("candidate", 2)), ((5, 3), "candidate", True, ("reference", 2)),
    ((5, 5), "reference", True, ("reference", 3)),
    ((5, 8), "reference", True, ("candidate", 3)), ((8, 8), "candidate", True, None), ((3, 8), "candidate", True, ("candidate", 2)),
    ((3, 3), "candidate", False, ("candidate", 5)), ((8, 3), "candidate", False, None), ((3, 3), "", False, None),
])  # fmt: skip
def test_who_gets_more_repetitions(counts, warm, back, expected):
    assert extension(Plan(1), *counts, warm, back) == expected


def test_a_plan_of_eight_repetitions_has_one_look():
    assert extension(Plan(1, 8), 8, 8, "candidate", True) is None
    assert extension(Plan(1, 6), 6, 6, "candidate", True) == ("candidate", 2)


def test_a_pilot_sees_what_its_spread_allows():
    assert sees([100, 100.5, 101], 0.03, 3) and not sees([100, 102, 104], 0.03, 3)
    assert Climb(Plan(1), [Measured(Stage("baseline", 0, 1, 3), (100, 102, 104))]).extend == Stage("baseline", 0, 1, 2)


def test_the_noise_plan_names_repetitions_and_minutes():
    quiet = noise_plan([100, 100.5, 99.5], Plan(3), repetition_s=2.0, load_s=10.0)
    assert quiet.repetitions == 3 and quiet.spread == pytest.approx(0.005)
    assert quiet.minutes[3] == pytest.approx(5 * (10 + 4 * 2) / 60) and quiet.minutes[8] == pytest.approx(5 * (10 + 9 * 2) / 60)
    middle = noise_plan([100, 102, 98], Plan(3, production_c=4), repetition_s=2.0, load_s=10.0, difference=0.04)
    assert middle.repetitions == 4 and middle.minutes[4] == pytest.approx(8 * (10 + 5 * 2) / 60)
    noisy = noise_plan([100, 110, 90], Plan(3), repetition_s=2.0, load_s=10.0)
    assert noisy.repetitions is None and noisy.smallest[8] == pytest.approx(0.127, abs=0.002) and "too small" in noisy.text
    assert noise_plan([100, 101], Plan(3), repetition_s=2.0, load_s=10.0) is None
    forced = noise_plan([100, 100.5, 99.5], Plan(3), repetition_s=2.0, load_s=10.0, forced=6)
    assert forced.minutes[3] - quiet.minutes[3] == pytest.approx(6 * (10 + 4 * 2) / 60) and "and its forced pass" in forced.text
    assert too_long(quiet, 7200.0) == ""
    slow = noise_plan([100, 100.5, 99.5], Plan(3), repetition_s=200.0, load_s=100.0)
    assert "8 repetitions a side everywhere it takes about 158 minutes; after 120 minutes a run is ended" in too_long(slow, 7200.0)
    assert noise_plan([100] * 3, Plan(3, order="interleaved"), repetition_s=1.0, load_s=0.0).minutes[3] == pytest.approx(8 * 4 / 60)


def test_one_stall_does_not_set_the_spread():
    assert spread_of([100, 101, 99, 100, 101, 99, 100, 40]) < 0.02 < spread_of([100, 97, 103])
