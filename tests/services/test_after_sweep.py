"""What follows a sweep, taken in: forced figures apart from every cell, suites into the worksheet, recipes out and in again."""

from __future__ import annotations

import pytest

from core.domain.run import new_run_id
from core.errors import InvalidInput, NotFound
from core.services import follow, runs
from core.services.cold import cold_figures
from core.services.explain import explain
from core.services.forecast import residuals, speedup_curve
from core.services.matrix import matrix_rows
from core.services.noise import noise_words
from core.services.receipts import receipt
from core.services.recipes import compared_with_recipe, recipe_file, sweep_of_recipe, winning_arm
from core.services.suites import register_suite, remove_suite, suite_table
from core.services.worksheets import propose, show_worksheet, sweep_values, type_suite
from tests.fakes.after_lines import forced_fit, forced_point, suite_side
from tests.fakes.event_lines import LOAD_LOG, EventLines
from tests.services.conftest import HELP, PROBE, REQUEST

OFF, ONE = [10, 10.1, 10.2], [14, 14.1, 14.2]
FORCED_HELP = HELP + "--spec-synth-rates P0,P1   forced\n"
SUITE = {"id": "tool-calls", "argv": ["/usr/bin/true"], "by": "exit", "band": 10.0}


@pytest.fixture
def box(box):
    box.probe_answer["engines"] = [{**PROBE["engines"][0], "help_text": FORCED_HELP}]
    return box


def play(box, run_id, after=lambda lines: None, **sweep):
    lines = EventLines(run_id)
    lines.begin()
    lines.stage("baseline", "baseline", 0, 1, 1, OFF)
    lines.stage("n=1", "step", 1, 1, 2, ONE)
    lines.stage("baseline again", "baseline-again", 0, 1, 20, OFF)
    after(lines)
    lines.end()
    for server in range(1, 40):
        box.append_log(run_id, f"server-{server}.log", LOAD_LOG.encode())
    box.append_events(run_id, lines.take())
    box.finish(run_id)


def done(house, box, run_id, after=lambda lines: None):
    follow.follow_once(house, run_id)
    play(box, run_id, after)
    follow.follow_once(house, run_id)
    assert runs.get_run(house, run_id)["state"] == "done", runs.get_run(house, run_id)["problem"]


def pass_of(lines):
    forced_point(lines, 1, "all", 31, 140.0)
    forced_point(lines, 1, "none", 32, 120.0)
    forced_fit(lines, n1=(120.0, 140.0))


def test_the_spec_asks_for_two_points_of_each_n_and_an_engine_without_them_is_refused(house, box, start):
    run_id = start(forced=True)
    follow.follow_once(house, run_id)
    points = [(one["n_max"], one["point"], one["args"][-2:]) for one in box.submitted[run_id]["forced"]]
    assert points == [
        (1, "all", ["--spec-synth-rates", "1"]),
        (1, "none", ["--spec-synth-rates", "0"]),
        (2, "all", ["--spec-synth-rates", "1,1"]),
        (2, "none", ["--spec-synth-rates", "0,0"]),
    ]
    assert box.submitted[run_id]["limits"]["lifetime_s"] == 7200 + 4 * (300 + 4 * 600), "what the points take at most"
    assert "n=1, all accepted" in [stage["name"] for stage in runs.show_run(house, run_id)["stages"]]
    play(box, run_id)
    follow.follow_once(house, run_id)
    box.probe_answer["engines"] = PROBE["engines"]
    other = start(forced=True)
    follow.follow_once(house, other)
    assert "--spec-synth-rates" in runs.get_run(house, other)["problem"]["message"]


def test_forced_figures_stand_in_no_cell_no_receipt_and_no_worksheet(house, box, start):
    plain, run_id = start(), None
    done(house, box, plain)
    run_id = start(forced=True)
    done(house, box, run_id, pass_of)
    assert {key: house.store.cells.of_run(plain)[1][key] for key in ("n", "rates", "steps", "recipe_id")} == {
        key: house.store.cells.of_run(run_id)[1][key] for key in ("n", "rates", "steps", "recipe_id")
    }
    assert len(house.store.cells.of_run(run_id)) == 2 and len(house.store.cells.samples(run_id)) == 3 * 4
    assert len(house.store.cells.samples(run_id, kind="synthetic")) == 2 * 4
    found = receipt(house, f"{run_id}-1-1")
    assert {(event["body"].get("stage") or {}).get("kind") for event in found["events"]} <= {"baseline", "step", "baseline-again", None}
    assert len(found["samples"]) == 4 and [row["server"] for row in found["servers"]] == [2]
    assert len(runs.show_run(house, run_id)["repetitions"]) == 9
    lines = {stage["name"]: stage["speedup"] for stage in runs.show_run(house, run_id)["stages"]}
    assert lines["n=1"] == pytest.approx(14.1 / 10.1) and lines["n=1, all accepted"] is None
    recipes = {row["purpose"]: row["recipe_id"] for row in house.store.cells.servers(run_id, purpose=None) if row["n_max"] == 1}
    assert recipes["forced"] != recipes["sweep"]
    row = next(row for row in matrix_rows(house, provenance="measured") if row["run_id"] == run_id)
    assert row["cells"]["1"]["n"] == 3


def test_the_curve_has_the_real_a_on_it_and_the_residuals_say_which_is_which(house, box, start):
    plain = start()
    done(house, box, plain)
    none = residuals(house, plain, 1, 1)["forecast"]
    assert none["state"] == "not_run" and "cannot fail" in none["text"] and speedup_curve(house, plain)["state"] == "not_run"
    run_id = start(forced=True)
    done(house, box, run_id, pass_of)
    curve = speedup_curve(house, run_id)
    (line,) = curve["lines"]
    assert (curve["state"], line["n_max"], line["a"][0], line["a"][-1], line["can_pay"]) == ("ok", 1, 1.0, 2.0, True)
    assert line["speedup"][-1] == pytest.approx(2.0 * curve["h_ms"] / 140.0)
    assert line["real"]["a"] == 2.0 and line["real"]["speedup"] == pytest.approx(14.1 / 10.1)
    found = residuals(house, run_id, 1, 1)
    realised = 2000.0 / 14.1
    assert found["forecast"]["share"] == pytest.approx(realised / 140.0 - 1.0) and found["forecast"]["state"] == "ok"
    assert found["forecast"]["of"] == "D + V" and "foretold" in found["forecast"]["text"]
    assert found["books"]["state"] == "ok" and found["books"]["share"] == pytest.approx(0.0, abs=1e-9)
    assert residuals(house, run_id, 0, 1)["forecast"]["state"] == "not_applicable"
    with pytest.raises(NotFound):
        speedup_curve(house, "f" * 32)


def test_a_forecast_far_from_what_came_is_flagged(house, box, start):
    run_id = start(forced=True)
    done(house, box, run_id, lambda lines: forced_fit(lines, n1=(80.0, 100.0)))
    found = residuals(house, run_id, 1, 1)["forecast"]
    assert found["state"] == "failed" and "expert routing" in found["text"]


def test_points_without_room_in_the_time_budget_are_not_run(house, box, start):
    run_id = start(forced=True, budget_min=600)
    left_out = [{"n_max": 1, "point": "none"}, {"n_max": 2, "point": "all"}]
    done(house, box, run_id, lambda lines: lines.add("forced_fit", lines=[], across=None, left_out=left_out))
    assert box.submitted[run_id]["limits"]["lifetime_s"] == 7200 + 36_000 + 10_800
    curve = speedup_curve(house, run_id)
    assert curve["state"] == "not_run" and "n=1 none accepted, n=2 all accepted: not run" in curve["why"]


def test_a_forced_pass_that_brought_nothing_says_so(house, box, start):
    run_id = start(forced=True)
    done(house, box, run_id, forced_fit)
    curve = speedup_curve(house, run_id)
    assert curve["state"] == "failed" and curve["lines"] == [] and "both of its points" in curve["why"]


def test_cold_figures_stand_apart(house, box, start):
    run_id = start()
    done(house, box, run_id)
    found = cold_figures(house, run_id, 1, 1)
    assert (found["n"], found["tok_s"], found["ttft_ms"], found["load_s"]) == (1, pytest.approx(11.2), 12.0, 0.2)
    assert cold_figures(house, run_id, 0, 1)["text"].endswith("(2 starts)")
    assert house.store.cells.of_run(run_id)[1]["rates"] == ONE
    assert cold_figures(house, run_id, 2, 1)["state"] == "not_recorded"


def with_suite(house, box, results, *, typed=None):
    """A worksheet whose run scored the suite: results of off and of n=1."""
    register_suite(house, "this-machine", SUITE, who="Ada")
    worksheet = propose(house, {**REQUEST, "suites": ["tool-calls"]}, who="Ada")
    run_id = new_run_id()
    runs.start_run(house, run_id, sweep_values(show_worksheet(house, worksheet)["worksheet"]), who="Ada")

    def after(lines):
        suite_side(lines, 1, 1, 31, results[1])
        suite_side(lines, 0, 1, 32, results[0])

    done(house, box, run_id, after)
    return worksheet, run_id


def row_and_gate(house, worksheet):
    view = show_worksheet(house, worksheet)
    return next(r for r in view["fields"] if r["key"] == "suite"), next(g for g in view["gates"] if g["name"] == "suite")


def test_scored_suites_fill_the_worksheet_and_pass_its_gate(house, box):
    worksheet, run_id = with_suite(house, box, [[("ok", 50.0), ("ok", 54.0)], [("ok", 44.0), ("ok", 47.0)]])
    assert box.submitted[run_id]["suites"] == [{"id": "tool-calls", "runs": 2, "band": 10.0, "at_most_s": 2 * 2 * 630.0}]
    assert box.submitted[run_id]["limits"]["lifetime_s"] == 7200 + 2520
    row, gate = row_and_gate(house, worksheet)
    assert (row["baseline"]["text"], row["candidate"]["text"]) == ("tool-calls: 50, 54", "tool-calls: 44, 47")
    assert {row[side]["provenance"] for side in ("baseline", "candidate")} == {"measured"} and row["candidate"]["run_id"] == run_id
    assert gate["state"] == "pass"
    (line,) = suite_table(house, runs.get_run(house, run_id))
    assert (line["difference"], line["verdict"], len(line["runs"])) == (-6.5, "within", 4)
    seen = str(explain(house, receipt(house, f"{run_id}-1-1"))["failure_modes"])
    assert "one stream only" in seen and "without a suite run" not in seen, "a scored suite counts for the speed claim"


def test_a_suite_that_hung_is_told_and_typed_scores_can_stand_in(house, box):
    worksheet, run_id = with_suite(house, box, [[("timeout", None)], [("timeout", None)]])
    row, gate = row_and_gate(house, worksheet)
    assert row["candidate"]["state"] == "failed" and "not done after 9 s" in row["candidate"]["text"] and gate["state"] == "missing"
    (line,) = suite_table(house, runs.get_run(house, run_id))
    assert (line["on"]["state"], line["verdict"]) == ("failed", None)
    for side in ("baseline", "candidate"):
        type_suite(house, worksheet, side, {"suite": "by hand", "scores": [50, 51]}, by="Ada")
    row, gate = row_and_gate(house, worksheet)
    assert row["candidate"]["text"] == "by hand: 50, 51" and row["candidate"]["provenance"] == "typed" and gate["state"] == "pass"


def test_a_suite_beyond_its_band_fails_the_gate(house, box):
    worksheet, _ = with_suite(house, box, [[("ok", 50.0), ("ok", 54.0)], [("ok", 30.0), ("ok", 31.0)]])
    assert row_and_gate(house, worksheet)[1]["state"] == "fail"


def test_suites_are_registered_anew_removed_and_refused(house, start):
    box = register_suite(house, "this-machine", SUITE, who="Ada")
    again = register_suite(house, "this-machine", {**SUITE, "band": 5.0}, who="Ada")
    assert [one.id for one in box.suites] == [one.id for one in again.suites] and again.suite("tool-calls").band == 5.0
    with pytest.raises(InvalidInput) as caught:
        register_suite(house, "this-machine", {**SUITE, "argv": "rm -rf /"}, who=" ")
    assert set(caught.value.problems) == {"argv", "by"}
    assert remove_suite(house, "this-machine", "tool-calls", who="Ada").suites == []
    with pytest.raises(NotFound):
        remove_suite(house, "this-machine", "tool-calls", who="Ada")
    with pytest.raises(NotFound, match="suite"):
        start(suites=["tool-calls"])


def test_the_winning_recipe_goes_out_and_a_run_starts_from_it(house, box, start):
    run_id = start(order="block", budget_min=30, context=1024)
    assert recipe_file(house, run_id) is None, "nothing is measured yet"
    done(house, box, run_id)
    assert winning_arm(house, run_id) == (1, 1)
    name, text = recipe_file(house, run_id)
    assert name.startswith("recipe-made-dense-n1-c1-")
    asked = sweep_of_recipe(text.encode())
    assert (asked["model"], asked["n_max"], asked["order"], asked["budget_min"], asked["context"]) == ("made-dense", 2, "block", 30, 1024)
    assert asked["recipe_id"] == house.store.cells.of_run(run_id)[1]["recipe_id"]
    assert 'run = "' + run_id in text and "speedup = 1.39" in text and '"/m.gguf"' in text
    assert 'gates = "not recorded: no worksheet' in text and 'cell_gate = "not recorded: ' in text, "what was not checked is not passed"
    again = new_run_id()
    assert runs.start_run(house, again, asked, who="Ada")
    done(house, box, again)
    assert compared_with_recipe(house, again)["same"] == [(1, 1)] and compared_with_recipe(house, run_id) is None
    assert recipe_file(house, run_id, arm=(9, 1)) is None
    with pytest.raises(NotFound):
        recipe_file(house, "f" * 32)


def test_a_recipe_file_with_a_bad_sweep_names_the_key(house, box, start):
    run_id = start()
    done(house, box, run_id)
    text = recipe_file(house, run_id)[1].replace("n_max = 2", "n_max = 99", 1)
    with pytest.raises(InvalidInput) as caught:
        sweep_of_recipe(text.encode())
    assert set(caught.value.problems) == {"sweep.n_max"}


def test_the_noise_plan_is_told_before_the_start_where_a_run_like_it_exists(house, box, start):
    assert noise_words(house, REQUEST)["state"] == "not_run"
    run_id = start()
    done(house, box, run_id)
    assert noise_words(house, REQUEST)["state"] == "not_run", "that run told no times"
    other = start()
    follow.follow_once(house, other)
    lines = EventLines(other)
    lines.begin()
    stage = {"kind": "baseline", "n_max": 0, "c": 1, "repetitions": 3, "name": "baseline"}
    lines.add(
        "stage_done", stage=stage, status="ok", reason="", tok_s=[100.0, 100.4, 99.7], drafted=None, accepted=None, took_s=10.0, load_s=2.0
    )
    lines.end()
    box.append_events(other, lines.take())
    box.finish(other)
    follow.follow_once(house, other)
    found = noise_words(house, {**REQUEST, "n_max": 2, "repetitions": 3})
    assert (found["state"], found["run_id"], found["repetitions"]) == ("ok", other, 3)
    assert found["minutes"] == pytest.approx(4 * (2.0 + 4 * 2.0) / 60.0), "two baselines and two steps, each a start and four repetitions"
    assert "needs 3 repetitions a side" in found["text"] and "newest like this one" in found["text"]
    assert "Tool suites" not in found["text"] and "time budget" not in found["text"]
    register_suite(house, "this-machine", SUITE, who="Ada")
    more = noise_words(house, {**REQUEST, "repetitions": 8, "n_max": 16, "budget_min": 5, "suites": ["tool-calls"], "forced": True})
    assert more["minutes"] == pytest.approx((18 * (2.0 + 4 * 2.0) + 32 * (2.0 + 4 * 2.0)) / 60.0)
    assert "come on top, 42 minutes at most. The time budget of 5 minutes is shorter" in more["text"]
    assert noise_words(house, {**REQUEST, "model": "made-moe"})["state"] == "not_run"
    assert "can be read" in noise_words(house, {**REQUEST, "n_max": None})["text"]
