"""The protocol's rules on scripted boxes: order, stops, winner, production, drift."""

import pytest

from core.domain.sweep import OFF, Measured, Plan, Stage, drifted, next_stage, possible_stages, problems_of, stop_of, winner

DENSE = {"is_moe": False, "placement": "host-only"}


def play(plan, rates, *, failing=()):
    """Runs a plan against rates by (n, c); each repetition a little apart so that noise is real."""
    done = []
    while (stage := next_stage(plan, done)) is not None:
        assert len(done) < 40
        if (stage.n_max, stage.c) in failing:
            done.append(Measured(stage, (), "failed", "the engine died"))
        else:
            rate = rates[(stage.n_max, stage.c)]
            rate = rate[len([d for d in done if d.stage.n_max == stage.n_max and d.stage.c == stage.c])] if isinstance(rate, list) else rate
            done.append(Measured(stage, tuple(rate * (1 + 0.002 * i) for i in range(stage.repetitions))))
    return done


def names(done):
    return [item.stage.name for item in done]


def test_the_climb_goes_on_while_it_pays():
    done = play(Plan(3, **DENSE), {(0, 1): 27.0, (1, 1): 38.0, (2, 1): 49.0, (3, 1): 59.3})
    assert names(done) == ["baseline", "n=1", "n=2", "n=3", "baseline again"]
    assert winner(done) == 3 and stop_of(Plan(3, **DENSE), done).code == "n_max_reached"


def test_a_mixture_of_experts_stops_at_the_first_step_without_a_gain():
    plan = Plan(3, is_moe=True, placement="host-only")
    done = play(plan, {(0, 1): 22.2, (1, 1): 18.0})
    assert names(done) == ["baseline", "n=1", "baseline again"] and winner(done) == OFF
    stop = stop_of(plan, done)
    assert stop.code == "no_gain" and "n_max=1" in stop.text and "off" in stop.text


def test_the_losing_step_is_kept_and_the_smaller_n_wins():
    plan = Plan(3, is_moe=True, placement="spilled")
    done = play(plan, {(0, 1): 22.2, (1, 1): 26.3, (2, 1): 21.6})
    assert names(done) == ["baseline", "n=1", "n=2", "baseline again"] and winner(done) == 1


def test_a_dense_resident_model_gets_one_more_try():
    plan = Plan(4, is_moe=False, placement="resident")
    done = play(plan, {(0, 1): 20.0, (1, 1): 19.0, (2, 1): 30.0, (3, 1): 29.0, (4, 1): 28.0})
    assert names(done) == ["baseline", "n=1", "n=2", "n=3", "n=4", "baseline again"] and winner(done) == 2
    unknown = play(Plan(4, is_moe=False, placement="unknown"), {(0, 1): 20.0, (1, 1): 19.0})
    assert names(unknown) == ["baseline", "n=1", "baseline again"], "where placement is unknown the first step without a gain stops"


def test_within_noise_is_no_gain_and_a_tie_goes_to_the_smaller_n():
    done = play(Plan(2, is_moe=True), {(0, 1): 20.0, (1, 1): 20.3})
    assert winner(done) == OFF and stop_of(Plan(2), done).code == "no_gain"


def test_winner_and_baseline_are_measured_again_at_production():
    plan = Plan(2, production_c=4, **DENSE)
    done = play(plan, {(0, 1): 20, (1, 1): 30, (2, 1): 40, (1, 4): 65, (2, 4): 60, (0, 4): 70})
    assert names(done)[-3:] == ["n=1 at c=4", "n=2 at c=4", "off at c=4"] and winner(done) == 2


def test_without_a_winner_production_still_measures_the_change():
    done = play(Plan(3, production_c=2), {(0, 1): 20, (1, 1): 10, (1, 2): 15, (0, 2): 30})
    assert names(done)[-2:] == ["n=1 at c=2", "off at c=2"]


def test_a_failed_baseline_ends_it_and_a_failed_step_does_not():
    assert names(play(Plan(2), {}, failing={(0, 1)})) == ["baseline"]
    done = play(Plan(3, **DENSE), {(0, 1): 20, (1, 1): 30}, failing={(2, 1)})
    assert names(done) == ["baseline", "n=1", "n=2", "baseline again"] and winner(done) == 1
    assert "the engine died" in stop_of(Plan(3, **DENSE), done).text


def test_the_closing_baseline_does_not_open_the_climb_again():
    plan = Plan(3, is_moe=True)
    done = play(plan, {(0, 1): [20.0, 10.0], (1, 1): 20.2})
    assert names(done) == ["baseline", "n=1", "baseline again"] and drifted(done) is True


@pytest.mark.parametrize("again, expected", [(20.0, False), (19.2, False), (18.0, True), (23.0, True)])
def test_drift_needs_noise_and_five_per_cent(again, expected):
    assert drifted(play(Plan(1, is_moe=True), {(0, 1): [20.0, again], (1, 1): 10.0})) is expected


def test_drift_is_unknown_until_measured_twice():
    assert drifted([Measured(Stage("baseline", 0, 1, 3), (1.0, 1.0, 1.0))]) is None


@pytest.mark.parametrize(
    "plan, field",
    [
        (Plan(0), "n_max"),
        (Plan(17), "n_max"),
        (Plan(1, 2), "repetitions"),
        (Plan(1, 9), "repetitions"),
        (Plan(1, 3, 0), "production_c"),
        (Plan(3, placement="spilled", first_n=3), "first_n"),
        (Plan(3, is_moe=False, placement="resident", first_n=2), "first_n"),
        (Plan(3, order="random"), "order"),
        (Plan(3, max_repetitions=9), "max_repetitions"),
        (Plan(3, 5, max_repetitions=4), "max_repetitions"),
        (Plan(3, budget_s=-1.0), "budget_s"),
        (Plan(3, budget_s=float("nan")), "budget_s"),
    ],
)
def test_refused_plans_name_the_field(plan, field):
    assert field in problems_of(plan)


def test_possible_stages_list_what_may_come():
    assert [s.name for s in possible_stages(Plan(2))] == ["baseline", "n=1", "n=2", "baseline again"]
    production = [(s.kind, s.n_max) for s in possible_stages(Plan(2, production_c=3))][-3:]
    assert production == [("production", 1), ("production", -1), ("production", 0)]
    assert [s.n_max for s in possible_stages(Plan(1, production_c=3))] == [0, 1, 0, 1, 0]
    assert "baseline between" in [s.name for s in possible_stages(Plan(2, order="interleaved"))]
