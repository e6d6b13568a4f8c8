"""Home: empty, filled, failing."""

from __future__ import annotations

from datetime import timedelta

from core.errors import BoxUnreachable
from core.services.decisions import decide
from core.services.house import House
from core.services.waiting import waiting_for
from core.services.worksheets import propose, type_suite, type_text
from tests.fakes.measured_run import write_run
from tests.pages.conftest import OpenPage, words


def proposal(house: House, title: str) -> str:
    values = {"title": title, "box_id": "this-machine", "engine_id": "embedded", "model": house.made_models[0]}
    return propose(house, {**values, "workload_id": sorted(house.workloads)[0]}, who="Ada")


def labels(at: object) -> str:
    return "\n".join(link.proto.label for link in at.get("page_link"))  # type: ignore[attr-defined]


def test_empty_home_offers_a_proposal(open_page: OpenPage) -> None:
    at = open_page("home")
    assert not at.exception
    assert at.title[0].value == "Draftledger"
    assert "Nothing waits." in words(at) and "Nothing is decided yet." in words(at)
    assert [button.label for button in at.button] == ["Propose a change"], "one way to begin"


def test_filled_home_names_open_gates_runs_and_the_best_cell(open_page: OpenPage, house: House) -> None:
    worksheet_id = proposal(house, "Try **drafts**")
    write_run(house, title="First sweep", created_at=house.clock.now(), worksheet_id=worksheet_id)
    write_run(house, title="Still going", created_at=house.clock.now(), state="running")
    at = open_page("home")
    assert not at.exception
    shown, said = labels(at).replace("\\", ""), [element.value for element in at.text]
    assert any(text.startswith("“First sweep”") for text in said) and any(text.startswith("“Still going”") for text in said)
    assert "○ A worksheet misses" in shown
    assert any(text.startswith("“Try **drafts**” ") for text in said), "a title from outside is text, never Markdown"
    assert "26.3 tok/s · 1.18× ▲ at n_max 1" in shown


def test_a_run_that_ended_long_ago_waits_for_nobody(open_page: OpenPage, house: House) -> None:
    write_run(house, title="Long ago", created_at=house.clock.now() - timedelta(days=30))
    assert "Long ago" not in labels(open_page("home"))


def test_a_run_that_was_decided_on_waits_for_nobody(house: House) -> None:
    sheet = proposal(house, "Decided")
    write_run(house, worksheet_id=sheet, created_at=house.clock.now())
    assert [item["kind"] for item in waiting_for(house, "Ada")["mine"]] == ["run", "missing"]
    decide(house, {"worksheet_id": sheet, "verdict": "reject", "owner": "Ada", "reason": "no", "against_why": "x"})
    assert waiting_for(house, "Ada")["mine"] == []


def test_home_names_a_box_that_does_not_answer(open_page: OpenPage, house: House) -> None:
    house.store.boxes.add_check("this-machine", BoxUnreachable("No route to host.").as_json(), ok=False, at=house.clock.now())
    at = open_page("home")
    assert "this machine did not answer" in labels(at) and "No route to host." in words(at)


def test_mine_comes_first_and_others_are_folded_away(open_page: OpenPage, house: House) -> None:
    mine = proposal(house, "Mine")
    other = propose(house, {**house.store.worksheets.get(mine)["body"], "title": "Theirs"}, who="Bo")
    write_run(house, title="Asked by Ada", created_at=house.clock.now(), worksheet_id=other)
    found = waiting_for(house, "Ada")
    assert [(item["kind"], item["of"]["title"]) for item in found["mine"]] == [("run", "Asked by Ada"), ("missing", "Mine")]
    assert [(item["kind"], item["of"]["title"]) for item in found["others"]] == [("missing", "Theirs")]
    at = open_page("home", person="Ada")
    assert not at.exception and "Waiting for others (1)" in [box.label for box in at.expander]
    type_text(house, other, "fit", "candidate", "12 GiB", by="Ada")
    assert waiting_for(house, "Ada")["others"] == []
    assert "Nothing waits for Cy." in words(open_page("home", person="Cy"))


def test_a_priced_worksheet_waits_for_a_signature(open_page: OpenPage, house: House) -> None:
    sheet = proposal(house, "Ready")
    write_run(house, title="Sweep", worksheet_id=sheet)
    for side in ("baseline", "candidate"):
        type_suite(house, sheet, side, {"suite": "tools", "scores": [50, 51]}, by="Ada")
    (item,) = [one for one in waiting_for(house, "Ada")["mine"] if one["kind"] != "run"]
    assert item["kind"] == "sign" and item["suggestion"]["action"] == "keep"
    at = open_page("home", person="Ada")
    assert "✍ A worksheet is priced: decide" in labels(at).replace("\\", "")
    assert any(element.value.startswith("“Ready” Suggestion: keep.") for element in at.text)


def test_a_finished_run_says_how_many_cells_lost(open_page: OpenPage, house: House) -> None:
    write_run(house, title="Sweep", created_at=house.clock.now())
    assert "3 cells, 1 losing" in words(open_page("home"))


def test_a_cell_below_its_baseline_by_less_than_two_percent_is_not_called_losing(house: House) -> None:
    write_run(house, rates={0: [22.0, 22.1, 22.2], 1: [21.7, 21.8, 21.9]}, created_at=house.clock.now())
    assert [item["losing"] for item in waiting_for(house, "Ada")["mine"]] == [(2, 0)]


def test_a_decision_that_went_stale_waits_with_its_badge(open_page: OpenPage, house: House) -> None:
    sheet = proposal(house, "Old **engine**")
    model, workload = house.made_models[0], sorted(house.workloads)[0]
    write_run(house, worksheet_id=sheet, model=model, workload_id=workload)
    decide(house, {"worksheet_id": sheet, "verdict": "reject", "owner": "Ada", "reason": "no", "against_why": "x"})
    assert "STALE" not in words(open_page("home"))
    later = house.clock.now() + timedelta(minutes=1)
    write_run(house, created_at=later, model=model, workload_id=workload, recipe={"engine_build": 11549})
    at = open_page("home")
    assert not at.exception and "◷ STALE" in words(at)
    assert "◷ Entry 1 went stale: re-check it" in labels(at).replace("\\", "")
    assert "“Old **engine**” engine build: b10473 (abc1234) → b11549 (abc1234)" in words(at)
    assert "1 in force: 0 kept, 1 rejected · 1 stale" in words(at), "how the bets stand, at a glance"
