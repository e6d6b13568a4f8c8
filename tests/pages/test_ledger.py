"""Ledger, a decision's own page, runbook: newest first, filters, evidence as it was, a broken chain, what went stale."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from core.services.decisions import decide
from core.services.house import House
from core.services.worksheets import propose, type_suite, type_text
from core.store.decisions import DuckDecisions
from tests.fakes.measured_run import write_run
from tests.pages.conftest import OpenPage, words

ASKED = {"box_id": "this-machine", "engine_id": "embedded", "model": "made-moe", "workload_id": "chat-short"}
LATER = datetime.now(UTC) + timedelta(hours=1)


def _texts(at) -> list[str]:
    return [element.value for element in at.text]


@pytest.fixture
def two(house: House) -> tuple[str, str]:
    priced, unpriced = (propose(house, {**ASKED, "title": f"**{name}**"}, who="Ada") for name in "ab")
    write_run(house, worksheet_id=priced, model="made-moe", workload_id="chat-short", rates={0: [22.0, 22.2, 22.4], 1: [18.0, 18.1, 18.2]})
    decide(house, {"worksheet_id": priced, "verdict": "reject", "owner": "Ada", "reason": "It <b>loses</b>."})
    decide(house, {"worksheet_id": unpriced, "verdict": "reject", "owner": "Bo", "reason": "No time."})
    return priced, unpriced


def test_empty_offers_the_worksheets(open_page: OpenPage) -> None:
    assert "Nothing is decided yet." in words(open_page("ledger"))
    assert "No decision is in force yet." in words(open_page("runbook"))


def test_newest_first_with_speed_owner_and_reason(open_page: OpenPage, house: House, two) -> None:
    at = open_page("ledger")
    assert not at.exception
    texts = _texts(at)
    assert texts.index("No time.") < texts.index("It <b>loses</b>.")
    assert "made-moe · n=1" in texts and "made-moe · not priced" in texts
    assert "0.82× ▼" in texts and "no speed-up measured" in texts
    assert any(text.startswith("Ada (local identity) · ") and text.endswith("action: disable") for text in texts)
    assert any(text.startswith("Bo (local identity) · ") and text.endswith("action: not priced") for text in texts)
    assert "all 2 entries fit their hashes" in words(at)
    assert [link.proto.query_string for link in at.get("page_link")][::2] == ["entry=2", "entry=1"]
    assert "22.0–22.4 tok/s" in texts and "18.0–18.2 tok/s" in texts
    assert "No other speculation method was tried." in words(at)


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ({"q": "LOSES"}, [1]), ({"owner": "Bo"}, [2]), ({"verdict": "reject"}, [2, 1]), ({"verdict": "keep"}, []), ({"stale": "yes"}, []),
        ({"model": "made-moe", "q": "time"}, [2]), ({"since": "2999-01-01"}, []), ({"until": "2999-01-01"}, [2, 1]), ({"q": "[.*"}, []),
    ],
)  # fmt: skip
def test_filters_stand_in_the_address(open_page: OpenPage, two, asked: dict[str, str], shown: list[int]) -> None:
    at = open_page("ledger", **asked)
    assert not at.exception
    assert [link.proto.query_string for link in at.get("page_link")][::2] == [f"entry={number}" for number in shown]
    assert f"{len(shown)} of 2 entries" in words(at)


def test_a_date_that_is_none_is_told(open_page: OpenPage, two) -> None:
    assert "since has to be a date such as 2026-11-29." in words(open_page("ledger", since="yesterday"))


def test_evidence_is_shown_as_it_was(open_page: OpenPage, house: House, two) -> None:
    write_run(house, worksheet_id=two[0], model="made-moe")
    entry = house.store.decisions.all()[0]
    at = open_page("decision", entry="1")
    assert not at.exception
    texts = _texts(at)
    assert "18.0–18.2 (3)" in texts and "26.1–26.5 (3)" not in texts
    assert any(text.startswith("Suggestion then: disable. ") for text in texts)
    assert any("No other speculation method was tried." in text for text in texts)
    assert at.code[-1].value == f"{entry['sha']}\n(first entry)\n{entry['evidence_sha256']}"
    assert {button.key for button in at.get("download_button")} >= {"memo-html", "memo-pdf", "record-json"} or at.get("download_button")


NONE = "No entry was named."


@pytest.mark.parametrize(("entry", "said"), [("", NONE), ("x<b>", NONE), ("²", NONE), ("77", "Not found")])
def test_an_entry_that_is_none(open_page: OpenPage, two, entry: str, said: str) -> None:
    at = open_page("decision", entry=entry)
    assert said in words(at) and not at.exception


def test_a_newer_run_turns_the_badge_and_one_click_opens_the_recheck(open_page: OpenPage, house: House, two, monkeypatch) -> None:
    recipe = {"engine_build": 11549}
    write_run(house, model="made-moe", workload_id="chat-short", created_at=LATER, recipe=recipe)
    at = open_page("decision", entry="1", person="Cy")
    assert "◷ engine build: b10473 (abc1234) → b11549 (abc1234)" in _texts(at)
    assert "◷ engine build: b10473 (abc1234) → b11549 (abc1234)" in _texts(open_page("ledger", stale="yes"))
    at.button(key="recheck").click().run()
    assert not at.exception
    newest = house.store.worksheets.all()[0]
    assert newest["title"] == "Re-check of entry 1: **a**" and newest["created_by"] == "Cy"
    assert {name: newest["body"][name] for name in ASKED} == ASKED


def test_a_recheck_needs_a_name(open_page: OpenPage, house: House, two) -> None:
    at = open_page("decision", entry="1")
    at.button(key="recheck").click().run()
    assert "Your name (in the menu) is needed." in words(at) and len(house.store.worksheets.all()) == 2


def test_the_runbook_keeps_the_losing_cells(open_page: OpenPage, house: House, two) -> None:
    at = open_page("runbook")
    assert not at.exception
    texts = _texts(at)
    assert "Run: speculation off" in texts and "Run: speculation off; the change was never priced" in texts
    assert any(text.startswith("n_max 1: 0.82×, loses; ") for text in texts)


def test_a_changed_entry_is_named(open_page: OpenPage, house: House, two, monkeypatch) -> None:
    real = DuckDecisions.chain

    def changed(self):
        first, *rest = real(self)
        return [{**first, "verdict": "keep"}, *rest]

    monkeypatch.setattr(DuckDecisions, "chain", changed)
    assert "The chain is broken at entry 1" in words(open_page("ledger"))


def test_what_people_typed_stands_in_the_frozen_evidence_with_name_and_time(open_page: OpenPage, house: House) -> None:
    sheet = propose(house, {**ASKED, "title": "typed"}, who="Ada")
    for side in ("baseline", "candidate"):
        type_suite(house, sheet, side, {"suite": "tools", "scores": [50, 51]}, by="Bo")
    type_text(house, sheet, "fit", "candidate", "12 GiB free", by="Cy")
    decide(house, {"worksheet_id": sheet, "verdict": "reject", "owner": "Ada", "reason": "no"})
    at = open_page("decision", entry="1")
    assert not at.exception
    assert "tools: 50, 51" in words(at) and "12 GiB free" in words(at)
    assert "decision" not in _texts(at), "the row frozen before the decision was taken would call it missing"
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    for name in ("Bo", "Cy"):
        assert f"typed in by {name}, {day}" in words(at)
