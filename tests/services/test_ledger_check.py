"""Tampering by SQL on a copy of database and folder: whatever was changed, moved or lost is found and named; so are spec witnesses."""

from __future__ import annotations

import json
import shutil

import duckdb
import pytest

from core.bootstrap import build
from core.config import Settings
from core.domain.roles import THE_APP
from core.errors import InvalidInput
from core.services.decisions import decide, withdraw
from core.services.doctor import doctor, mend
from core.services.follow import follow_once
from core.services.ledger_check import verify_ledger
from core.services.worksheets import propose
from tests.fakes.measured_run import write_run

ASKED = {"title": "MTP", "box_id": "this-machine", "engine_id": "embedded", "model": "made-moe", "workload_id": "chat-short"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A database with four entries, closed: a reject, one that supersedes it, a withdrawal, another worksheet's."""
    folder = tmp_path_factory.mktemp("whole")
    services = build(Settings(db=folder / "w.duckdb", local_dir=folder / "local"))
    house = services.house
    sheet, other = (propose(house, ASKED, who="Ada") for _ in range(2))
    write_run(house, worksheet_id=sheet, model="made-moe")
    for reason in ("one", "two"):
        decide(house, {"worksheet_id": sheet, "verdict": "reject", "owner": "Ada", "reason": reason, "against_why": "x"})
    withdraw(house, {"number": 2, "owner": "Bo", "reason": "three"})
    decide(house, {"worksheet_id": other, "verdict": "reject", "owner": "Cy", "reason": "four"})
    services.database.close()
    services.jobs.close()
    return folder


@pytest.fixture
def copy(whole, tmp_path):
    """A copy to tamper with."""
    shutil.copy(whole / "w.duckdb", tmp_path / "w.duckdb")
    shutil.copytree(whole / "w.duckdb.d", tmp_path / "w.duckdb.d")
    return tmp_path


def tamper(folder, *statements):
    with duckdb.connect(str(folder / "w.duckdb")) as connection:
        for sql in statements:
            connection.execute(sql)


def checked(folder, witness=None):
    services = build(Settings(db=folder / "w.duckdb", local_dir=folder / "local"))
    try:
        return verify_ledger(services.house, witness=witness)
    finally:
        services.database.close()
        services.jobs.close()


def journal(folder):
    return folder / "w.duckdb.d" / "decisions.jsonl"


def test_untouched_it_holds_with_and_without_witness(copy):
    found = checked(copy)
    assert (found["ok"], found["entries"], found["first_bad"], found["why"]) == (True, 4, None, "")
    assert checked(copy, journal(copy).read_text())["proves"] == 4
    assert checked(copy, found["head"])["proves"] == 4


@pytest.mark.parametrize("number", [1, 4])
@pytest.mark.parametrize(
    "change",
    [
        "owner = 'Eve'", "reason = reason || '.'", "action = 'widen'", "verdict = 'keep'", "worksheet_id = 'w-0'",
        "noted_at = noted_at + INTERVAL 1 MICROSECOND", "evidence = '{}'", "evidence_sha256 = repeat('0', 64)", "prev = repeat('0', 64)",
        "sha = repeat('0', 64)", "details = '{}'", "details = NULL", "details = json_merge_patch(details, '{\"n_max\": 7}')",
    ],
)  # fmt: skip
def test_any_changed_column_of_any_row_is_found(copy, change, number):
    tamper(copy, f"UPDATE decisions SET {change} WHERE number = {number}")  # noqa: S608  the test's own words
    found = checked(copy)
    assert (found["ok"], found["first_bad"]) == (False, number), found


@pytest.mark.parametrize(
    ("statements", "number"),
    [
        (["DELETE FROM decisions WHERE number = 4"], 4),
        (["DELETE FROM decisions WHERE number = 1"], 1),
        (["DELETE FROM decisions WHERE number = 2"], 2),
        (["DELETE FROM decisions"], 1),
        (["UPDATE decisions SET number = 9 WHERE number = 2", "UPDATE decisions SET number = 2 WHERE number = 3",
          "UPDATE decisions SET number = 3 WHERE number = 9"], 2),
        (["CREATE TABLE t AS SELECT * REPLACE (5 AS number, repeat('1', 64) AS sha) FROM decisions WHERE number = 4",
          "INSERT INTO decisions SELECT * FROM t", "DROP TABLE t"], 5),
    ],
)  # fmt: skip
def test_lost_moved_and_added_rows_are_found(copy, statements, number):
    tamper(copy, *statements)
    found = checked(copy)
    assert (found["ok"], found["first_bad"]) == (False, number), found


def test_a_lost_last_row_in_database_and_journal_shows_against_a_witness(copy):
    lines = journal(copy).read_text().splitlines()
    head = json.loads(lines[-1])["sha"]
    tamper(copy, "DELETE FROM decisions WHERE number = 4")
    journal(copy).write_text("\n".join(lines[:-1]) + "\n")
    assert checked(copy)["ok"], "database and journal agree, so only a witness can know"
    for witness in ("\n".join(lines), head, json.dumps({"decision_head": head}), f"4 {head}"):
        found = checked(copy, witness)
        assert (found["ok"], found["first_bad"]) == (False, 4) and "witness" in found["why"]


def test_without_journal_a_witness_is_needed(copy):
    text = journal(copy).read_text()
    journal(copy).unlink()
    found = checked(copy)
    assert (found["ok"], found["first_bad"]) == (False, None) and "decisions.jsonl is missing" in found["why"]
    assert checked(copy, text)["ok"]


def test_a_changed_journal_and_changed_or_missing_snapshots_are_found(copy):
    lines = journal(copy).read_text().splitlines()
    journal(copy).write_text("\n".join([lines[0].replace('"reason":"', '"reason":"not '), *lines[1:]]))
    assert checked(copy)["first_bad"] == 1
    journal(copy).write_text("\n".join(lines))
    kept = sorted((copy / "w.duckdb.d" / "snapshots").iterdir())
    kept[0].write_text("{}")
    assert "was changed" in checked(copy)["why"]
    kept[0].unlink()
    assert "is missing" in checked(copy)["why"]


@pytest.mark.parametrize("text", ["", "nothing", "{}", "[1, 2]", '{"decision_head": ""}', "\x00\xff"])
def test_a_witness_that_says_nothing_is_bad_input(copy, text):
    with pytest.raises(InvalidInput):
        checked(copy, text)


def test_nothing_decided_is_ok(tmp_path):
    assert checked(tmp_path) == {"ok": True, "entries": 0, "first_bad": None, "why": "", "head": "", "proves": None}


def test_a_run_carries_the_head_as_a_witness(house, box, start):
    sheet = propose(house, {**ASKED, "model": "made-dense"}, who="Ada")
    entry = decide(house, {"worksheet_id": sheet, "verdict": "reject", "owner": "Ada", "reason": "no"})
    run_id = start()
    follow_once(house, run_id)
    spec = box.submitted[run_id]
    assert spec["decision_head"] == entry["sha"]
    assert verify_ledger(house, witness=json.dumps(spec))["proves"] == 1


def test_the_doctor_names_a_broken_chain(copy):
    def findings():
        services = build(Settings(db=copy / "w.duckdb", local_dir=copy / "local"))
        try:
            house = services.house.acting(THE_APP)
            return [one["what"] for one in doctor(house, ask_boxes=False, compare=False)["findings"] if one["about"] == "decisions"]
        finally:
            services.database.close()
            services.jobs.close()

    assert findings() == []
    tamper(copy, "UPDATE decisions SET owner = 'Eve' WHERE number = 2")
    assert findings() == ["entry 2 was changed after it was recorded."]


def test_what_a_crash_left_signed_is_taken_in_by_the_run_of_doctor_that_is_named(copy):
    tamper(copy, "DELETE FROM decisions WHERE number IN (3, 4)")
    services = build(Settings(db=copy / "w.duckdb", local_dir=copy / "local"))
    try:
        house = services.house.acting(THE_APP)
        found = doctor(house, ask_boxes=False, compare=False)["findings"]
        (told,) = [one for one in found if one["about"] == "decisions"]
        assert told["what"].startswith("entry 3 stands in decisions.jsonl") and "doctor --mend" in told["todo"]
        assert [one["what"][:7] for one in mend(house) if not one["run_id"]] == ["entry 3", "entry 4"]
        assert verify_ledger(house)["ok"] and verify_ledger(house)["entries"] == 4
        assert [one for one in mend(house) if not one["run_id"]] == []
    finally:
        services.database.close()
        services.jobs.close()


def test_a_journal_that_does_not_follow_is_never_taken_in(copy):
    lines = journal(copy).read_text().splitlines()
    journal(copy).write_text("\n".join([*lines[:3], lines[3].replace('"reason":"four"', '"reason":"five"')]))
    tamper(copy, "DELETE FROM decisions WHERE number = 4")
    services = build(Settings(db=copy / "w.duckdb", local_dir=copy / "local"))
    try:
        house = services.house.acting(THE_APP)
        (told,) = [one for one in doctor(house, ask_boxes=False, compare=False)["findings"] if one["about"] == "decisions"]
        assert "--witness" in told["todo"] and [one for one in mend(house) if not one["run_id"]] == []
    finally:
        services.database.close()
        services.jobs.close()
