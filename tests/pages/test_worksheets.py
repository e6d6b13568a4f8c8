"""The list of worksheets: empty, and how each stands in words."""

from __future__ import annotations

from core.services.decisions import decide
from core.services.house import House
from core.services.worksheets import propose
from tests.fakes.measured_run import write_run
from tests.pages.conftest import OpenPage, words

ASKED = {"box_id": "this-machine", "engine_id": "embedded", "model": "made-moe", "workload_id": "chat-short"}


def test_empty_offers_the_proposal(open_page: OpenPage) -> None:
    at = open_page("worksheets")
    assert "No worksheet yet." in words(at)
    assert ["Propose a change" in link.proto.label for link in at.get("page_link")] == [True]


def test_each_worksheet_says_how_it_stands(open_page: OpenPage, house: House) -> None:
    fresh, running, measured, decided = (propose(house, {**ASKED, "title": f"<i>{name}</i>"}, who="Ada") for name in "abcd")
    write_run(house, worksheet_id=running, state="running")
    write_run(house, worksheet_id=measured)
    decide(house, {"worksheet_id": decided, "verdict": "reject", "owner": "Bo", "reason": "no time"})
    at = open_page("worksheets")
    assert not at.exception
    said = [element.value for element in at.text]
    for sentence in ("nothing measured yet", "sweep running", "measured, to be decided", "decided: reject"):
        assert sentence in said
    doors = {link.proto.query_string for link in at.get("page_link")}
    assert {f"worksheet={one}" for one in (fresh, running, measured, decided)} <= doors
    assert all("<i>" not in link.proto.label.replace("\\<i\\>", "") for link in at.get("page_link"))
