"""What a person chooses on a worksheet: recipes from measured ones, the plan, traffic shares; and what that does to the suggestion."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.errors import InvalidInput, NotFound
from core.services.comparison import change_plan, choose_arm, measured_arms, type_traffic
from core.services.runs import start_run
from core.services.worksheet_edits import worksheet_history
from core.services.worksheets import get_worksheet, propose, show_worksheet, sweep_values, type_suite, type_text
from tests.fakes.measured_run import PLACEMENT, START, write_run
from tests.services.conftest import REQUEST

WINS, LOSES = {1: [50, 51, 52], 0: [40, 41, 42]}, {1: [30, 31, 32], 0: [40, 41, 42]}
ASKED = {"model": "made-dense", "workload_id": "chat-short"}


@pytest.fixture
def sheet(house):
    return propose(house, {**REQUEST, "production_c": 4}, who="Ada")


def gate(view, name):
    return next(one for one in view["gates"] if one["name"] == name)


def test_both_sides_come_from_the_newest_run_until_somebody_chooses(house, sheet):
    first = write_run(house, worksheet_id=sheet, production=WINS, **ASKED)
    other = write_run(house, production=LOSES, **ASKED)
    arms = measured_arms(house, get_worksheet(house, sheet))
    assert {(arm["run_id"], arm["n_max"]) for arm in arms["baseline"]} == {(first, 0), (other, 0)}
    assert {(arm["run_id"], arm["n_max"]) for arm in arms["candidate"]} == {(run, n) for run in (first, other) for n in (1, 2)}
    assert show_worksheet(house, sheet)["run_id"] == first
    choose_arm(house, sheet, "candidate", other, 2, by="Ada")
    view = show_worksheet(house, sheet)
    assert (view["run_id"], view["candidate_n"], view["evidence"].baseline_run_id) == (other, 2, None), "a baseline follows its candidate"
    choose_arm(house, sheet, "baseline", first, 0, by="Ada")
    view = show_worksheet(house, sheet)
    assert gate(view, "same_but_change")["state"] == "fail" and "two runs" in gate(view, "same_but_change")["to_pass"]
    assert view["fields"][0]["baseline"]["run_id"] == first and view["fields"][0]["candidate"]["run_id"] == other
    choose_arm(house, sheet, "baseline", other, 0, by="Ada")
    assert gate(show_worksheet(house, sheet), "same_but_change")["state"] == "pass"
    for side in ("baseline", "candidate"):
        choose_arm(house, sheet, side, None, by="Ada")
    assert show_worksheet(house, sheet)["run_id"] == first


def test_differences_beside_the_change_are_flagged(house, sheet):
    write_run(house, worksheet_id=sheet, **ASKED)
    marks = {one["key"]: one["is_change"] for one in show_worksheet(house, sheet)["differences"]}
    assert marks == {"n_max": True, "speculation": True}


@pytest.mark.parametrize(("side", "n_max"), [("baseline", 1), ("candidate", 0), ("candidate", 9), ("both", 0)])
def test_what_was_not_measured_cannot_be_chosen(house, sheet, side, n_max):
    run_id = write_run(house, worksheet_id=sheet, **ASKED)
    with pytest.raises(InvalidInput):
        choose_arm(house, sheet, side, run_id, n_max, by="Ada")
    assert house.store.worksheets.entries(sheet) == []


def test_a_changed_plan_is_what_the_next_sweep_asks_for(house, sheet):
    change_plan(house, sheet, {"n_max": 2, "repetitions": 5, "production_c": 8}, by="Bo")
    assert start_run(house, "ab" * 16, sweep_values(get_worksheet(house, sheet)), who="Bo")
    request = house.store.runs.get("ab" * 16)["request"]
    assert (request["n_max"], request["repetitions"], request["production_c"], request["worksheet_id"]) == (2, 5, 8, sheet)
    assert gate(show_worksheet(house, sheet), "production")["to_pass"].endswith("at c=8, 3 repetitions each.")


@pytest.mark.parametrize("c", [0, -1, 65, 1.5, None])
def test_a_concurrency_that_is_none_is_refused_together_with_the_blank_name(house, sheet, c):
    with pytest.raises(InvalidInput) as refused:
        change_plan(house, sheet, {"n_max": 2, "repetitions": 3, "production_c": c}, by=" ")
    assert set(refused.value.problems) == {"production_c", "by"}
    assert get_worksheet(house, sheet)["body"]["production_c"] == 4


@pytest.mark.parametrize(("production", "action"), [(WINS, "keep"), (LOSES, "disable")])
def test_the_production_row_decides_the_suggestion(house, sheet, production, action):
    write_run(house, worksheet_id=sheet, production=production, **ASKED)
    found = show_worksheet(house, sheet)["suggestion"]
    assert found["action"] == action and found["text"].startswith("At c=4: n=1 ")


def test_one_stream_alone_says_that_it_does_not_decide(house, sheet):
    write_run(house, worksheet_id=sheet, **ASKED)
    assert "c=4 is not measured yet, and it decides." in show_worksheet(house, sheet)["suggestion"]["text"]


def test_traffic_shares_weigh_workloads_and_turn_the_suggestion(house, sheet):
    write_run(house, worksheet_id=sheet, production=WINS, **ASKED)
    type_traffic(house, sheet, {"chat-short": 30, "code": 70}, by="Ada")
    view = show_worksheet(house, sheet)
    assert view["traffic"]["missing"] == ["code"] and view["traffic"]["weighted"] is None and view["suggestion"]["action"] == "keep"
    write_run(house, production=LOSES, **{**ASKED, "workload_id": "code"})
    newer = START + timedelta(hours=1)
    write_run(house, production=WINS, recipe={"engine_build": 1}, created_at=newer, **{**ASKED, "workload_id": "code"})
    view = show_worksheet(house, sheet)  # the newer run is of another build, and stays out
    assert view["traffic"]["missing"] == [] and [row["verdict"] for row in view["traffic"]["rows"]] == ["wins", "loses"]
    assert view["suggestion"]["action"] == "disable" and view["suggestion"]["text"].startswith("Your mix: 0.")
    flips = {flip.workload: flip.at for flip in view["traffic"]["weighted"].flips}
    off, wins, loses = 4000 / 41, 4000 / 51, 4000 / 31
    assert flips["code"] == pytest.approx((off - wins) / (loses - wins))
    type_traffic(house, sheet, {"chat-short": 90, "code": 10}, by="Ada")
    assert show_worksheet(house, sheet)["suggestion"]["action"] == "keep"


def test_a_mix_that_pays_keeps_what_its_own_row_rejects(house, sheet):
    write_run(house, worksheet_id=sheet, production=LOSES, **ASKED)
    write_run(house, production=WINS, **{**ASKED, "workload_id": "code"})
    type_traffic(house, sheet, {"chat-short": 10, "code": 90}, by="Ada")
    found = show_worksheet(house, sheet)["suggestion"]
    assert (found["action"], found["n_max"]) == ("keep", 1)


def test_a_run_with_another_placement_is_not_part_of_the_mix(house, sheet):
    write_run(house, worksheet_id=sheet, production=WINS, **ASKED)
    elsewhere = {"placement": {**PLACEMENT, "n_cpu_moe": 24}}
    write_run(house, production=LOSES, recipe=elsewhere, **{**ASKED, "workload_id": "code"})
    type_traffic(house, sheet, {"chat-short": 30, "code": 70}, by="Ada")
    assert show_worksheet(house, sheet)["traffic"]["missing"] == ["code"]
    few_mib = {"placement": {**PLACEMENT, "host_mib": 9003.0, "label": "14 layers' experts, 9003 MiB on the host"}}
    other = write_run(house, production=LOSES, recipe=few_mib, **{**ASKED, "workload_id": "code"})
    found = show_worksheet(house, sheet)["traffic"]
    assert found["missing"] == [] and [row["run_id"] for row in found["rows"]][1] == other, "MiB differ from load to load"


def test_a_clone_takes_over_notes_and_shares_but_no_figures(house, sheet):
    type_text(house, sheet, "n_max", "note", "3 was tried in May", by="Ada")
    type_text(house, sheet, "fit", "candidate", "12 GiB free", by="Ada")
    type_suite(house, sheet, "baseline", {"suite": "tools", "scores": [50.0]}, by="Ada")
    type_traffic(house, sheet, {"chat-short": 30, "code": 70}, by="Ada")
    clone = propose(house, {**REQUEST, "cloned_from": sheet}, who="Bo")
    assert {(entry["field"], entry["side"]) for entry in house.store.worksheets.entries(clone)} == {
        ("n_max", "note"),
        ("traffic", "candidate"),
    }
    note = next(line for line in worksheet_history(house, clone) if line["place"] == "note on n_max")
    assert (note["new"], note["who"], note["origin"]) == ("3 was tried in May", "Bo", f"taken over from worksheet {sheet}, there by Ada")
    with pytest.raises(NotFound):
        propose(house, {**REQUEST, "cloned_from": "w-none"}, who="Bo")


@pytest.mark.parametrize("percent", [{}, {"code": 60}, {"code": 60, "chat-short": 60}, {"code": -10, "chat-short": 110}])
def test_odd_shares_are_refused(house, sheet, percent):
    with pytest.raises(InvalidInput) as refused:
        type_traffic(house, sheet, percent, by="Ada")
    assert any(field.startswith("shares") for field in refused.value.problems)
    assert house.store.worksheets.entries(sheet) == []


def test_an_unknown_workload_is_told(house, sheet):
    with pytest.raises(NotFound):
        type_traffic(house, sheet, {"poems": 100}, by="Ada")
