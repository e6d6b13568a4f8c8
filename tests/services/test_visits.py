"""An arm visited more than once is one line of the run page, with all its repetitions; what may still come is listed once."""

import pytest

from core.services.follow import follow_once
from core.services.runs import show_run, stages_of
from tests.fakes.event_lines import LOAD_LOG, EventLines


def events(lines: EventLines, calls):
    """Events as the store gives them."""
    found = []
    for kind, body in calls:
        event = lines.add(kind, **body)
        found.append({"kind": kind, "seq": event["seq"], "body": body})
    return found


def stage(name, kind, n_max, repetitions, c=1):
    return {"kind": kind, "n_max": n_max, "c": c, "repetitions": repetitions, "name": name}


def visit(shown, rates, *, status="ok", reason=""):
    drafted, accepted = (10 * len(rates), 8 * len(rates)) if shown["n_max"] else (None, None)
    return [
        ("stage_started", {"stage": shown, "server": 1}),
        *[("sample", {"stage": shown, "counted": True, "tok_s": rate, "repetition": 1}) for rate in rates],
        ("stage_done", {"stage": shown, "status": status, "reason": reason, "tok_s": rates, "drafted": drafted, "accepted": accepted}),
    ]


RUN = {
    "state": "running",
    "request": {"title": "t", "box_id": "b", "engine_id": "e", "model": "m", "workload_id": "w", "n_max": 2, "production_c": 2},
}
OFF, ONE = [100.0, 100.1, 100.2], [102.0, 99.0, 102.1]


def test_visits_of_an_arm_are_one_line_with_all_repetitions():
    calls = visit(stage("baseline", "baseline", 0, 3), OFF) + visit(stage("n=1", "step", 1, 3), ONE)
    calls += visit(stage("n=1", "step", 1, 2), [104.0, 104.1]) + visit(stage("baseline", "baseline", 0, 2), [100.0, 100.3])
    baseline, one, *planned = stages_of(RUN, events(EventLines("r"), calls))
    assert (baseline["name"], baseline["repetitions"], baseline["visits"], len(baseline["tok_s"])) == ("baseline", 5, 2, 5)
    assert (one["tok_s"], one["repetitions"], one["state"]) == ([*ONE, 104.0, 104.1], 5, "done")
    assert (one["proposed"], one["accept_share"], one["median_tok_s"]) == (50, 0.8, 102.1)
    assert [line["name"] for line in planned] == ["n=2", "baseline again", "n=1 at c=2", "winner at c=2", "off at c=2"]


def test_a_visit_under_way_shows_what_came_before_and_now():
    calls = visit(stage("baseline", "baseline", 0, 3), OFF) + visit(stage("n=1", "step", 1, 3), ONE)
    calls += visit(stage("n=1", "step", 1, 2), [104.0])[:-1]
    one = stages_of(RUN, events(EventLines("r"), calls))[1]
    assert (one["state"], one["tok_s"], one["repetitions"]) == ("now", [*ONE, 104.0], 5)


def test_a_visit_that_fails_keeps_the_line_done_with_its_reason():
    calls = visit(stage("n=1", "step", 1, 3), ONE) + visit(stage("n=1", "step", 1, 2), [], status="failed", reason="The engine died.")
    one = stages_of(RUN, events(EventLines("r"), calls))[0]
    assert (one["state"], one["reason"], one["tok_s"]) == ("done", "The engine died.", ONE)
    (alone,) = stages_of({**RUN, "state": "failed"}, events(EventLines("r"), calls[-2:]))
    assert (alone["state"], alone["tok_s"]) == ("failed", [])


@pytest.mark.parametrize("rate", ["NaN", "102", 0, -1.0, True, [102.0], {}])
def test_what_is_no_speed_in_an_event_is_left_out_of_the_line(rate):
    calls = visit(stage("baseline", "baseline", 0, 3), OFF) + visit(stage("n=1", "step", 1, 3), [*ONE, rate])
    calls += visit(stage("n=1", "step", 1, 1), [rate])[:-1]
    one = stages_of(RUN, events(EventLines("r"), calls))[1]
    assert (one["tok_s"], one["median_tok_s"]) == (ONE, 102.0)


def test_at_production_only_what_can_still_come_is_planned():
    calls = visit(stage("baseline", "baseline", 0, 3), OFF) + visit(stage("baseline again", "baseline-again", 0, 3), OFF)
    calls += visit(stage("n=1 at c=2", "production", 1, 3, 2), ONE)
    assert [s["name"] for s in stages_of(RUN, events(EventLines("r"), calls))][3:] == ["winner at c=2", "off at c=2"]
    calls += visit(stage("off at c=2", "production", 0, 3, 2), OFF)
    assert [s["state"] for s in stages_of(RUN, events(EventLines("r"), calls))] == ["done"] * 4


def test_a_finished_run_with_extra_visits_shows_and_counts_them(house, box, start):
    run_id = start(n_max=1)
    follow_once(house, run_id)
    lines = EventLines(run_id)
    lines.begin()
    lines.stage("baseline", "baseline", 0, 1, 1, OFF)
    lines.stage("n=1", "step", 1, 1, 2, ONE)
    lines.stage("n=1", "step", 1, 1, 2, [104.0, 104.1])
    lines.stage("baseline", "baseline", 0, 1, 3, [100.0, 100.3])
    lines.stage("baseline again", "baseline-again", 0, 1, 4, OFF)
    lines.end()
    for server in (1, 2, 3, 4):
        box.append_log(run_id, f"server-{server}.log", LOAD_LOG.encode())
    box.append_events(run_id, lines.take())
    box.finish(run_id)
    for _ in range(3):
        follow_once(house, run_id)
    view = show_run(house, run_id)
    assert view["run"]["state"] == "done"
    assert [(s["name"], len(s["tok_s"]), s["visits"]) for s in view["stages"]] == [
        ("baseline", 5, 2),
        ("n=1", 5, 2),
        ("baseline again", 3, 1),
    ]
    assert {cell["n_max"]: cell["n"] for cell in view["cells"]} == {0: 8, 1: 5}
