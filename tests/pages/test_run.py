"""The page of one run: unknown, preparing, live, out of reach, stopped, failed, done."""

from __future__ import annotations

import time
from datetime import timedelta

from core.domain.run import new_run_id
from core.services.house import House, Live
from core.services.runs import show_run, start_run
from core.services.worksheets import propose
from core.ui.components.figures import literal
from tests.fakes.measured_run import write_run
from tests.pages.conftest import OpenPage, words

ASKED = {"title": "T", "box_id": "this-machine", "engine_id": "embedded", "model": "made-moe", "workload_id": "chat-short"}


def _texts(at) -> list[str]:
    return [element.value for element in at.text]


def test_without_a_run_and_with_an_unknown_one(open_page: OpenPage) -> None:
    assert "No run was named." in words(open_page("run"))
    for name in ("nothing", "0" * 32, "<b>", "x" * 10_000):
        at = open_page("run", run=name)
        assert "Not found" in words(at) and not at.exception


def test_preparing_lists_every_stage_that_may_come(open_page: OpenPage, house: House) -> None:
    run_id = new_run_id()
    assert start_run(house, run_id, {**ASKED, "production_c": 4}, who="Ada")
    at = open_page("run", run=run_id, person="Bo")
    assert not at.exception
    for name in ("preflight", "baseline", "n=1", "n=2", "n=3", "baseline again", "winner at c=4", "off at c=4"):
        assert f"○ {name}" in _texts(at)
    assert "only if n=1 pays" in _texts(at)
    assert [badge for badge in at.markdown if "preparing" in badge.value]


def test_stop_asks_with_the_persons_name(open_page: OpenPage, house: House) -> None:
    run_id = new_run_id()
    start_run(house, run_id, ASKED, who="Ada")
    at = open_page("run", run=run_id, person="-Bo\t")
    at.button(key="stop-run").click().run()
    run = house.store.runs.get(run_id)
    assert (run["state"], run["cancel_by"]) == ("stopping", "Bo")
    assert at.button(key="stop-run").disabled
    assert any(text.startswith("stopping: Bo asked for it") for text in _texts(at))


def test_live_shows_stages_beat_log_and_time_left(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house, rates={0: [22.0, 22.2, 22.4], 1: [26.1, 26.3, 26.5]}, state="running")
    house.store.runs.set_state(run_id, reached_at=house.clock.now())
    beat = {"phase": "measuring", "stage": "n=2", "repetition": 2, "repetitions": 3}
    house.live[run_id] = Live(beat, "<script>alert(1)</script>\n**log**", time.monotonic(), log_name="server-3.log")
    at = open_page("run", run=run_id)
    assert not at.exception
    texts = _texts(at)
    assert "● n=1" in texts and "● baseline" in texts and "○ n=2" in texts
    assert "26.3 (3 of 3)" in texts and "1.18× ▲" in texts and "88% of 204 proposed" in texts
    left = show_run(house, run_id)["left_s"]
    assert left is not None and left > 0
    assert any(text.startswith("measuring n=2, repetition 2 of 3 · about ") and text.endswith(" left") for text in texts)
    assert at.code[0].value == "<script>alert(1)</script>\n**log**"
    assert any("box: answered" in caption.value and caption.value.endswith("agent: alive") for caption in at.caption)
    assert at.button(key="stop-run").label == "Stop"


def test_a_silent_agent_on_a_box_that_answers_is_told_apart(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house, rates={0: [22.0, 22.2, 22.4]}, state="running")
    house.store.runs.set_state(run_id, reached_at=house.clock.now())
    house.live[run_id] = Live({"phase": "measuring", "stage": "n=1"}, moved_at=time.monotonic() - 30)
    said = words(open_page("run", run=run_id))
    assert "box: answered" in said and "agent: silent for " in said and ", the box is being asked" in said


def test_out_of_reach_is_no_end(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house, rates={0: [22.0, 22.2, 22.4]}, state="running")
    problem = {"title": "Box unreachable", "message": "gpu-1:22: no answer in time.", "hint": ""}
    house.store.runs.set_state(run_id, unreachable_since=house.clock.now() - timedelta(seconds=35), problem=problem)
    at = open_page("run", run=run_id)
    said = words(at)
    assert "agent: unknown, the box is out of reach" in said
    assert "out of reach since" in said and "gpu-1:22: no answer in time." in said and "goes on there by itself" in said
    assert at.button(key="stop-run").label == "Stop"


def test_done_shows_reason_winner_drift_and_doors(open_page: OpenPage, house: House) -> None:
    worksheet_id = propose(house, ASKED, who="Ada")
    run_id = write_run(house, worksheet_id=worksheet_id, production={1: [50, 51, 52], 0: [40, 41, 42]})
    at = open_page("run", run=run_id)
    assert not at.exception
    texts = _texts(at)
    assert "n=2 is not" not in texts
    assert "n_max=2 is not faster than n_max=1 beyond noise; longer drafts were not tried." in texts
    assert "n=1" in texts and "none: the baseline held" in texts
    doors = {link.proto.query_string for link in at.get("page_link")}
    assert {f"cell={run_id}-{n}-{c}" for n, c in ((0, 1), (1, 1), (2, 1), (1, 4), (0, 4))} <= doors
    assert f"worksheet={worksheet_id}" in doors
    assert not [button for button in at.button if button.label == "Stop"]
    at.selectbox(key="raw-log").set_value("server-1.log").run()
    assert "<b>not bold</b> **not bold either**" in at.code[0].value


def test_stopped_calls_nothing_failed_and_no_winner(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house, rates={0: [22.0, 22.2, 22.4]}, state="cancelled")
    house.store.runs.set_state(run_id, note="Stopped by Ada.")
    at = open_page("run", run=run_id)
    assert not at.exception
    texts = _texts(at)
    assert "Stopped by Ada." in texts and "not known: the baseline was not measured twice" not in texts
    assert not any("failed" in text for text in texts)


def test_failed_keeps_what_was_measured_and_says_why(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house, rates={0: [22.0, 22.2, 22.4]}, failed={1: "The engine died."}, state="failed")
    problem = {"title": "The run failed", "message": "The engine died.", "hint": "What was measured before is kept."}
    house.store.runs.set_state(run_id, problem=problem, note="The engine died.")
    at = open_page("run", run=run_id)
    said = words(at)
    assert "The run failed" in said and "What was measured before is kept." in said
    doors = [link.proto.label.replace("\\", "") for link in at.get("page_link")]
    assert "✕ n=1" in _texts(at) and ":primary[22.0–22.4 (3) ↗]" in doors, "the figure is the door to its receipt"


def test_a_title_of_markup_stays_text(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house, title="<img src=x onerror=alert(1)> **b**")
    at = open_page("run", run=run_id)
    (head,) = at.subheader[:1]
    assert head.value.endswith(literal("<img src=x onerror=alert(1)> **b**"))
    assert "\\<img" in head.value and "\\*\\*b" in head.value


def test_a_run_that_is_over_can_be_repeated_once_a_click(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house, rates={0: [22.0, 22.2, 22.4], 1: [26.1, 26.3, 26.5]}, state="done")
    at = open_page("run", run=run_id)
    assert not [button for button in at.button if button.key == "resume-run"], "a run that is done has nothing to resume"
    at.button(key="repeat-run").click().run()
    assert "name" in words(at) and len(house.store.runs.find()) == 1, "without a name nothing starts"
    at = open_page("run", run=run_id, person="Bo")
    at.button(key="repeat-run").click().run()
    at.button(key="repeat-run").click().run()
    (again,) = [run for run in house.store.runs.find() if run["run_id"] != run_id]
    assert (again["request"]["attempt"], again["request"]["repeat_of"], again["requested_by"]) == (2, run_id, "Bo")
    assert not at.exception
