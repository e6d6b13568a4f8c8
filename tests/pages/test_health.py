"""Health: sound, damaged, a backup made, and the door for others."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.bootstrap import Services
from core.domain.roles import Actor
from core.services.decisions import decide
from core.services.worksheets import propose
from core.ui import context
from tests.pages.conftest import OpenPage, words


def test_a_sound_house_says_so_and_a_backup_is_listed(services: Services, open_page: OpenPage) -> None:
    at = open_page("health")
    assert "Nothing is wrong" in words(at) and "None yet." in words(at) and "never checked" in words(at)
    at.button(key="health-backup").click().run()
    services.jobs._known["backup"].result(timeout=60)
    at.run()
    assert at.dataframe[0].value["kind"].tolist() == ["asked"] and Path(at.dataframe[0].value["file"][0]).exists()
    assert "Backed up." in words(at) and not at.exception


def test_what_is_wrong_stands_first_with_what_to_do(services: Services, open_page: OpenPage) -> None:
    house = services.house
    report = {"error": {"title": "Box unreachable", "message": "<b>no</b> route $x$", "hint": "Look at the cable."}}
    house.store.boxes.add_check("this-machine", report, ok=False, at=house.clock.now())
    record = house.upkeep.folder / "house.jsonl"
    record.write_bytes(record.read_bytes().replace(b"this machine", b"that machine", 1))
    at = open_page("health")
    said = words(at)
    assert "of house.jsonl was changed" in said and "rebuild --begin-record" in said
    assert "Box unreachable" in said and "Look at the cable." in said and "Nothing is wrong" not in said


def test_the_full_look_compares_rows_beside_the_page(services: Services, open_page: OpenPage) -> None:
    at = open_page("health")
    at.button(key="health-doctor").click().run()
    services.jobs._known["doctor"].result(timeout=60)
    at.run()
    assert "rows equal those made anew" in words(at) and "this machine: answers" in words(at)


def test_a_decision_signed_and_not_stored_is_told_and_mended_by_one_click(services: Services, open_page: OpenPage) -> None:
    house = services.house
    asked = {"title": "MTP", "box_id": "this-machine", "engine_id": "embedded", "model": "made-moe", "workload_id": "chat-short"}
    sheet = propose(house, asked, who="Ada")
    decide(house, {"worksheet_id": sheet, "verdict": "reject", "owner": "Ada", "reason": "no"})
    with services.database.tx() as cursor:
        cursor.execute("DELETE FROM decisions")
    at = open_page("health")
    assert not at.exception and "entry 1 stands in decisions.jsonl" in words(at)
    at.button(key="health-mend").click().run()
    services.jobs._known["mend"].result(timeout=60)
    at.run()
    assert "Mended: entry 1 taken from decisions.jsonl" in words(at) and "stands in decisions.jsonl" not in words(at)
    assert [entry["owner"] for entry in house.store.decisions.all()] == ["Ada"]


def test_health_stays_shut_for_others(services: Services, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    actor = Actor("https://id.example v", "Vi", "decider", "page", is_named=True)
    monkeypatch.setattr(context, "actor_at_this_tab", lambda services: actor)
    at = open_page("health")
    assert "Not allowed" in words(at) and "GiB free" not in words(at)
