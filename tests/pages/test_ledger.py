"""The ledger: empty, newest first, evidence as it was, a broken chain."""

from __future__ import annotations

from core.services.decisions import decide
from core.services.house import House
from core.services.worksheets import propose
from core.store.decisions import DuckDecisions
from tests.fakes.measured_run import write_run
from tests.pages.conftest import OpenPage, words

ASKED = {"box_id": "this-machine", "engine_id": "embedded", "model": "made-moe", "workload_id": "chat-short"}


def _two(house: House) -> tuple[str, str]:
    priced, unpriced = (propose(house, {**ASKED, "title": f"**{name}**"}, who="Ada") for name in "ab")
    write_run(house, worksheet_id=priced, model="made-moe", rates={0: [22.0, 22.2, 22.4], 1: [18.0, 18.1, 18.2]})
    decide(house, {"worksheet_id": priced, "verdict": "reject", "owner": "Ada", "reason": "It <b>loses</b>."})
    decide(house, {"worksheet_id": unpriced, "verdict": "reject", "owner": "Bo", "reason": "No time."})
    return priced, unpriced


def test_empty_offers_the_worksheets(open_page: OpenPage) -> None:
    assert "Nothing is decided yet." in words(open_page("ledger"))


def test_newest_first_with_speed_owner_and_reason(open_page: OpenPage, house: House) -> None:
    priced, unpriced = _two(house)
    at = open_page("ledger")
    assert not at.exception
    texts = [element.value for element in at.text]
    assert texts.index("No time.") < texts.index("It <b>loses</b>.")
    assert "made-moe · n=1" in texts and "made-moe · not priced" in texts
    assert "0.82× ▼" in texts and "no speed-up measured" in texts
    assert any(text.startswith("Ada · ") and text.endswith("the suggestion was: disable") for text in texts)
    assert "all 2 entries fit their hashes" in words(at)
    assert [link.proto.query_string for link in at.get("page_link")] == [f"worksheet={unpriced}", f"worksheet={priced}"]


def test_evidence_is_shown_as_it_was(open_page: OpenPage, house: House) -> None:
    priced, _ = _two(house)
    write_run(house, worksheet_id=priced, model="made-moe")
    entry = house.store.decisions.all()[0]
    at = open_page("ledger")
    at.toggle(key="evidence-1").set_value(True).run()
    assert not at.exception
    texts = [element.value for element in at.text]
    assert "18.0–18.2 (3)" in texts and "26.1–26.5 (3)" not in texts
    assert any(text.startswith("Suggestion then: disable. ") for text in texts)
    assert any("No other speculation method was tried." in text for text in texts)
    assert at.code[0].value == f"{entry['sha']}\n(first entry)\n{entry['evidence_sha256']}"


def test_a_changed_entry_is_named(open_page: OpenPage, house: House, monkeypatch) -> None:
    _two(house)
    real = DuckDecisions.all

    def changed(self):
        first, *rest = real(self)
        return [{**first, "verdict": "keep"}, *rest]

    monkeypatch.setattr(DuckDecisions, "all", changed)
    assert "The chain is broken at entry 1" in words(open_page("ledger"))
