"""Repeat and resume: new runs that a person asked for, never the app; a resume keeps out what is measured and no longer in the running."""

from __future__ import annotations

import pytest

from core.domain.run import SweepRequest, new_run_id
from core.domain.sweep import Measured, Plan, Stage, next_stage, possible_stages, problems_of, winner
from core.errors import BoxBusy, PreflightRefused
from core.services import follow, runs
from core.services.again import again_words, first_missing, repeat_run, resume_run
from tests.fakes.event_lines import EventLines

OFF = [10.0, 10.1, 10.2]


def interrupted(house, box, start, steps, **changes):
    """A run that was stopped after these steps, by n."""
    run_id = start(**changes)
    follow.follow_once(house, run_id)
    lines = EventLines(run_id)
    lines.begin()
    lines.stage("baseline", "baseline", 0, 1, 1, OFF)
    for server, (n, rates) in enumerate(steps.items(), 2):
        lines.stage(f"n={n}", "step", n, 1, server, rates)
    lines.end("cancelled", text="Stopped by Ada.")
    box.append_events(run_id, lines.take())
    box.finish(run_id)
    follow.follow_once(house, run_id)
    assert runs.get_run(house, run_id)["state"] == "cancelled"
    return run_id


def test_a_repeat_is_the_same_request_as_a_further_attempt(house, box, start):
    first = interrupted(house, box, start, {})
    second, third = new_run_id(), new_run_id()
    assert repeat_run(house, second, first, who="Bo") is True
    assert repeat_run(house, second, first, who="Bo") is False, "a second click is no third run"
    asked = runs.get_run(house, second)
    told = {key: value for key, value in asked["request"].items() if key not in ("attempt", "repeat_of")}
    assert told == {key: value for key, value in runs.get_run(house, first)["request"].items() if key not in ("attempt", "repeat_of")}
    assert (asked["request"]["attempt"], asked["request"]["repeat_of"], asked["requested_by"]) == (2, first, "Bo")
    assert again_words(asked["request"]) == f"attempt 2, after r-{first[:4]}"
    with pytest.raises(BoxBusy, match="Nothing was started"):
        repeat_run(house, third, second, who="Bo")


def test_a_resume_leaves_out_what_is_measured_and_says_that_the_baseline_is_not(house, box, start):
    old = interrupted(house, box, start, {1: [14.0, 14.1, 14.2], 2: [18.0, 18.1, 18.2]}, n_max=4)
    assert first_missing(house, old) == 2, "n=2 leads: what follows is held against it within one run"
    new = new_run_id()
    assert resume_run(house, new, old, who="Bo") is True
    follow.follow_once(house, new)
    plan = box.submitted[new]["plan"]
    assert (plan["first_n"], plan["segment_of"], plan["n_max"]) == (2, old, 4)
    stages = [stage["name"] for stage in runs.show_run(house, new)["stages"]]
    assert stages == ["baseline", "n=2", "n=3", "n=4", "baseline again"]
    assert again_words(runs.get_run(house, new)["request"]) == f"goes on from r-{old[:4]} with n=2; baseline measured anew"
    assert len(house.store.cells.samples(old)) == 12 and runs.get_run(house, old)["state"] == "cancelled", (
        "the first segment stays as it is"
    )


@pytest.mark.parametrize("steps", [{}, {1: [9.0, 9.1, 9.2], 2: [8.0, 8.1, 8.2]}])
def test_where_nothing_can_be_left_out_or_added_repeat_is_the_way(house, box, start, steps):
    old = interrupted(house, box, start, steps)
    assert first_missing(house, old) is None
    with pytest.raises(PreflightRefused, match="nothing that a further segment could add"):
        resume_run(house, new_run_id(), old, who="Bo")


def test_nothing_is_run_again_by_itself(house, box, start, monkeypatch):
    monkeypatch.setattr(follow, "STILL_S", 0.0)
    run_id = start()
    follow.follow_once(house, run_id)
    box.lose_agent(run_id)
    for _ in range(5):
        follow.follow_once(house, run_id)
    assert runs.get_run(house, run_id)["state"] == "lost" and box.starts == [run_id] and len(runs.list_runs(house)) == 1


def test_a_segment_climbs_from_its_n_against_its_own_baseline():
    plan = Plan(4, is_moe=True, placement="spilled", first_n=3, segment_of="a" * 32)
    assert (
        problems_of(plan) == {}
        and "first_n" in problems_of(Plan(4, first_n=3))
        and "first_n" in problems_of(Plan(2, first_n=3, segment_of="a"))
    )
    done = []
    for rates in ((10.0, 10.0, 10.1), (20.0, 20.0, 20.1), (25.0, 25.0, 25.1), (10.0, 10.0, 10.1)):
        done.append(Measured(next_stage(plan, done), rates))
    assert [item.stage.name for item in done] == ["baseline", "n=3", "n=4", "baseline again"] == [s.name for s in possible_stages(plan)]
    assert winner(done) == 4 and next_stage(plan, done) is None
    lost = [Measured(Stage("baseline", 0, 1, 3), (10.0, 10.0, 10.1)), Measured(Stage("step", 3, 1, 3), (5.0, 5.0, 5.1))]
    assert next_stage(plan, lost).kind == "baseline-again", "a step that does not pay ends a segment's climb too"


def test_an_old_request_reads_as_a_first_attempt():
    old = {"title": "t", "box_id": "b", "engine_id": "e", "model": "m", "workload_id": "w"}
    assert SweepRequest(**old).attempt == 1 and again_words(old) == "" and again_words(SweepRequest(**old).model_dump()) == ""
