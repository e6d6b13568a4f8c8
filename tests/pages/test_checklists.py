"""Checklists: nothing is ticked without evidence, and every tick opens what it rests on."""

from __future__ import annotations

from core.services.house import House
from core.services.worksheets import propose, type_suite
from tests.fakes.measured_run import write_run
from tests.pages.conftest import OpenPage, words
from tests.pages.test_worksheet import ASKED, GOOD, HTML


def marks(at) -> dict[str, list[str]]:
    texts = [element.value for element in at.text]
    return {mark: [text[2:] for text in texts if text.startswith(f"{mark} ")] for mark in "✓⚠○"}


def test_an_empty_store_ticks_nothing(open_page: OpenPage) -> None:
    at = open_page("checklists")
    assert not at.exception
    found = marks(at)
    assert found["✓"] == [] and found["⚠"] == [] and len(found["○"]) == 10 + 5
    assert "there is no worksheet yet" in words(at)


def test_a_worksheet_that_measured_nothing_ticks_nothing(open_page: OpenPage, house: House) -> None:
    propose(house, {**ASKED, "title": HTML}, who="Ada")
    at = open_page("checklists")
    assert not at.exception
    found = marks(at)
    assert found["✓"] == [] and found["⚠"] == [] and len(found["○"]) == 10 + 8 + 5


def test_what_the_store_shows_is_ticked_with_its_evidence(open_page: OpenPage, house: House) -> None:
    sheet = propose(house, {**ASKED, "production_c": 4}, who="Ada")
    run_id = write_run(house, worksheet_id=sheet, model="made-moe", **GOOD)
    at = open_page("checklists")
    assert not at.exception
    found = marks(at)
    assert {"verification across host spill", "speed claim without a suite run"} <= set(found["⚠"])
    assert {"acceptance not recorded", "heat or drift", "one stream only"} <= set(found["✓"])
    assert "Skip no length, least of all on a spilled mixture of experts." in found["✓"]
    assert [text for text in found["○"] if "suite" in text] == [
        "Run the product's suite with speculation off and on.",
        "Tie every change of speculation to a run of the product's own suite.",
    ]
    said = words(at)
    assert "88% of the proposed tokens were accepted" in said
    assert "n_max=2 is not faster than n_max=1 beyond noise" in said
    doors = {link.proto.query_string for link in at.get("page_link")}
    assert {f"run={run_id}", f"cell={run_id}-1-1", f"cell={run_id}-1-4", f"cell={run_id}-2-1", f"worksheet={sheet}"} <= doors
    for side in ("baseline", "candidate"):
        type_suite(house, sheet, side, {"suite": "tools", "scores": [50, 51]}, by="Bo")
    found = marks(at.run())
    assert "speed claim without a suite run" in found["✓"] and not [text for text in found["○"] if "suite" in text]


def test_a_drifted_run_is_pointed_out(open_page: OpenPage, house: House) -> None:
    sheet = propose(house, ASKED, who="Ada")
    write_run(house, worksheet_id=sheet, model="made-moe", drifted=True)
    propose(house, {**ASKED, "title": "a newer one"}, who="Ada")
    found = marks(open_page("checklists", worksheet=sheet))
    assert "heat or drift" in found["⚠"] and "Measure the baseline again at the end." in found["○"]
