"""Backups, restoring, making anew, doctor, reap, retention: on a real database with something of every kind in it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from core.bootstrap import build, upkeep_of
from core.config import ROOT
from core.domain.run import DONE
from core.errors import BoxBusy, InvalidInput, OutputNotUnderstood, StoreError
from core.ports.clock import Clock
from core.services import backups, runs
from core.services.doctor import doctor, mend
from core.services.follow import follow_once
from core.services.housekeeping import Housekeeper
from core.services.matrix import matrix_rows
from core.services.reap import reap
from core.services.retention import keep_to_retention
from tests.fakes.event_lines import EventLines
from tests.services.lived_in import a_finished_run, live_in


class Later(Clock):
    def __init__(self, days: float) -> None:
        self.days = days

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(days=self.days)


@pytest.fixture
def lived(house, box):
    return live_in(house, box)


def core(settings, *words: str) -> tuple[int, dict]:
    """The command line as another process."""
    done = subprocess.run(
        [sys.executable, "-m", "core", *words, "--db", str(settings.db), "--json"], cwd=ROOT, capture_output=True, check=False, timeout=120
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done.returncode, json.loads(done.stdout)


def ledger(settings, run_id: str) -> Path:
    return settings.beside / "ledger" / f"{run_id}.jsonl"


def test_everything_in_a_lived_in_house_can_be_made_anew(house, lived, settings):
    house.upkeep._database.close()
    answer = upkeep_of(settings).rebuild(replace=False)
    assert answer["equal"] and answer["faults"] == [] and not answer["replaced"]
    tables = answer["tables"]
    kinds = ("runs", "run_events", "samples", "servers", "recipes", "raw_files", "worksheets", "worksheet_entries", "imported_files",
             "imported_cells", "exclusions", "decisions", "boxes", "box_checks")  # fmt: skip
    assert all(tables[name]["rows_anew"] == tables[name]["rows_before"] > 0 for name in kinds)
    assert all(one["before"] == one["anew"] for one in tables.values())
    assert set(answer["not_in_the_record"]) == {
        "cell_gates",
        "ingest_leases",
        "published_cells",
        "published_remarks",
        "public_results",
        "public_results_loaded",
    }


def test_events_come_from_the_ledger_and_a_changed_one_is_told(house, lived, settings):
    house.upkeep._database.close()
    path = ledger(settings, lived)
    path.write_bytes(path.read_bytes().replace(b"10.0", b"99.0", 1))
    answer = upkeep_of(settings).rebuild(replace=False)
    assert answer["differing"] == ["run_events"] and "changed after it was written" in answer["faults"][0]
    assert not answer["replaced"], "rows that are whole are not given up for a damaged ledger"


def test_a15_back_up_live_destroy_restore_and_the_digests_are_equal(house, lived, settings, tmp_path, box):
    keeper = Housekeeper(house)
    keeper.start()
    try:
        code, made = core(settings, "backup", "--to", str(tmp_path / "vault"))
    finally:
        keeper.close()
    assert code == 0 and made["kind"] == "asked" and made["files"] >= 4
    before = matrix_rows(house)
    later = a_finished_run(house, box)
    house.upkeep._database.close()
    settings.db.unlink()
    shutil.rmtree(settings.beside)
    code, back = core(settings, "restore", made["backup"])
    assert code == 0 and back["equal"] and (back["seq"], back["sha"]) == (made["seq"], made["sha"])
    services = build(settings)
    try:
        assert matrix_rows(services.house) == before and services.house.store.runs.get(later) is None
        assert services.house.archive.read(*raw_of(services.house, lived))
        assert services.house.upkeep.compare()["equal"]
    finally:
        services.close()


def raw_of(house, run_id: str) -> tuple[str, str]:
    row = house.store.runs.raw_files(run_id)[0]
    return row["stored_as"], row["sha256"]


def half_followed(house, box, start) -> tuple[str, bytes, int]:
    """A run of which one half is here: (run id, all its bytes, where the half ends)."""
    run_id = start()
    follow_once(house, run_id)
    whole, cut = EventLines(run_id).sweep_in_two()
    box.append_events(run_id, whole[:cut])
    follow_once(house, run_id)
    return run_id, whole, cut


def test_a15_a_run_that_went_on_after_the_backup_is_fetched_from_its_box(house, box, settings, tmp_path, start):
    run_id, whole, cut = half_followed(house, box, start)
    made = backups.back_up(house, to=tmp_path / "vault")
    box.append_events(run_id, whole[cut:])
    follow_once(house, run_id)
    samples = [(one["seq"], one["tok_per_s"]) for one in house.store.cells.samples(run_id)]
    house.upkeep._database.close()
    upkeep_of(settings).restore(Path(made["backup"]))
    services = build(settings)
    try:
        again = replace(services.house, open_box=lambda _: box)
        assert ledger(settings, run_id).read_bytes() == whole[:cut]
        follow_once(again, run_id)
        assert ledger(settings, run_id).read_bytes() == whole
        assert [(one["seq"], one["tok_per_s"]) for one in again.store.cells.samples(run_id)] == samples
        assert runs.get_run(again, run_id)["state"] == DONE
    finally:
        services.close()


def test_a_backup_that_was_changed_is_refused_and_nothing_is_touched(house, lived, settings, tmp_path):
    made = backups.back_up(house, to=tmp_path / "vault")
    copy = tmp_path / "vault" / "files" / "house.jsonl"
    copy.write_bytes(copy.read_bytes().replace(b"Ada", b"Eve", 1))
    house.upkeep._database.close()
    before = settings.db.read_bytes()
    with pytest.raises(InvalidInput, match=r"house\.jsonl"):
        upkeep_of(settings).restore(Path(made["backup"]))
    assert settings.db.read_bytes() == before and (settings.beside / "house.jsonl").exists()


def test_a_later_backup_shares_files_and_each_restores_its_own_moment(house, lived, settings, tmp_path, box):
    first = backups.back_up(house, to=tmp_path / "vault")
    a_finished_run(house, box)
    second = backups.back_up(house, to=tmp_path / "vault")
    assert len(list((tmp_path / "vault" / "files").rglob("house.jsonl*"))) == 1
    house.upkeep._database.close()
    for made in (first, second, first):
        back = upkeep_of(settings).restore(Path(made["backup"]))
        assert back["equal"] and back["seq"] == made["seq"]


def test_a_broken_record_is_bridged_by_the_newest_backup_behind_the_break(house, lived, settings, box):
    backups.back_up(house)
    a_finished_run(house, box)
    house.upkeep._database.close()
    record = settings.beside / "house.jsonl"
    lines = record.read_bytes().splitlines(keepends=True)
    lines[9] = lines[9].replace(b"Ada", b"Eve").replace(b'"at":"20', b'"at":"19')
    record.write_bytes(b"".join(lines))
    answer = upkeep_of(settings).rebuild(replace=False)
    assert answer["equal"] and "Line 10" in answer["faults"][0] and "Taken from the backup of" in answer["faults"][0]
    assert "record starts anew" in doctor_todo(settings)
    begun = upkeep_of(settings).begin_record()
    assert begun["rows"] > 0 and Path(begun["aside"]).exists()
    again = upkeep_of(settings).rebuild(replace=False)
    assert again["equal"] and again["faults"] == []


def doctor_todo(settings) -> str:
    services = build(settings)
    try:
        found = doctor(services.house, ask_boxes=False, compare=False)
        assert not found["ok"]
        return " ".join(one["todo"] for one in found["findings"])
    finally:
        services.close()


def test_nightly_backups_are_proved_and_rotated(house, lived):
    assert not backups.is_due(house, house.clock.now()) and backups.is_due(replace(house, clock=Later(2)), house.clock.now())
    made = backups.nightly(house)
    assert made["proof"] == {"equal": True, "differing": [], "faults": []} and made["dropped"] == []
    assert not backups.is_due(house, house.clock.now()) and backups.is_due(replace(house, clock=Later(1.1)), house.clock.now())


def test_fourteen_days_and_eight_weeks_are_kept():
    start = datetime(2026, 1, 1, 3, tzinfo=UTC)
    all_of_them = [
        {"made": (start + timedelta(days=day, hours=hour)).isoformat(), "path": f"{day}-{hour}"} for day in range(200) for hour in (0, 9)
    ]
    gone = {one["path"] for one in backups.superfluous(all_of_them)}
    kept = [one for one in all_of_them if one["path"] not in gone]
    days = {one["made"][:10] for one in kept}
    assert {f"{start + timedelta(days=day):%Y-%m-%d}" for day in range(186, 200)} <= days
    assert len({datetime.fromisoformat(one["made"]).strftime("%G-%V") for one in kept}) == 8 and len(kept) == 14 + 6
    assert all(one["path"].endswith("-9") for one in kept), "the newest of its day"
    assert backups.superfluous(kept) == []


def test_a07_no_backup_is_said_when_its_place_cannot_be_written(house, lived, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError, match="No backup could be made"):
        backups.back_up(house, to=tmp_path / "file" / "vault")


def test_doctor_is_content_with_a_sound_house_and_names_what_is_wrong(house, lived, box, settings):
    sound = doctor(house, ask_boxes=True)
    assert sound["ok"] and {fact["about"] for fact in sound["facts"]} == {"host", "store", "ledgers", "decisions", "boxes"}
    box.probe_answer |= {"busy": {"run_id": "ff" * 16, "pid": None}, "wall": 1.0}
    path = ledger(settings, lived)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[6] = lines[6].replace(b'"seq": 7', b'"seq": 6')
    path.write_bytes(b"".join(lines))
    found = doctor(house, ask_boxes=True)["findings"]
    said = " | ".join(one["what"] for one in found)
    assert "whose agent is dead" in said and "its clock differs" in said and "line 7" in said and "Rows differ" in said
    assert all(one["todo"] for one in found)
    box.unreachable = True
    assert "Box unreachable" in " ".join(one["what"] for one in doctor(house, ask_boxes=True, compare=False)["findings"])


def test_a09_a_damaged_ledger_is_named_by_its_line_and_fetched_again(house, lived, settings):
    path = ledger(settings, lived)
    whole = path.read_bytes()
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    (found,) = doctor(house, ask_boxes=False, compare=False)["findings"]
    assert "line " in found["what"] and "--mend" in found["todo"]
    (done,) = mend(house)
    assert done["run_id"] == lived and path.read_bytes() == whole
    assert list(path.parent.glob("*.damaged-*")) and doctor(house, ask_boxes=False)["ok"]


def test_a09_a_box_that_has_another_file_by_now_mends_nothing(house, lived, settings, box):
    path = ledger(settings, lived)
    path.write_bytes(path.read_bytes()[:-1])
    box.replace_events(lived, b"")
    (done,) = mend(house)
    assert "Nothing was replaced" not in done["what"] and "Not the same ledger" in done["what"]
    assert not doctor(house, ask_boxes=False, compare=False)["ok"]


def test_a14_a_box_with_a_shorter_or_another_file_merges_nothing(house, box, start):
    run_id, whole, cut = half_followed(house, box, start)
    before = house.store.runs.events(run_id)
    box.replace_events(run_id, whole[: cut // 3])
    follow_once(house, run_id)
    assert house.store.runs.events(run_id) == before and runs.get_run(house, run_id)["state"] == "running"
    other = EventLines(run_id)
    other.whole_sweep(off=[20.0, 20.1, 20.2], steps={1: [22.0, 22.1, 22.2], 2: [23.0, 23.1, 23.2]})
    strange = other.take()
    box.replace_events(run_id, whole[:cut] + strange[strange.index(b"\n", cut) + 1 :])
    follow_once(house, run_id)
    assert house.store.runs.events(run_id) == before and runs.get_run(house, run_id)["state"] == "failed"


def test_reap_reports_what_was_ended_and_closes_nothing_that_lives(house, box, start):
    run_id = start()
    follow_once(house, run_id)
    box.leftovers = [{"run_id": run_id, "ended": [4711], "left": []}]
    with pytest.raises(BoxBusy, match="alive"):
        reap(house, "this-machine", run_id=run_id, who="Ada")
    box.lose_agent(run_id)
    done = reap(house, "this-machine", run_id=run_id, who="Ada")
    assert done["reaped"] == [{"run_id": run_id, "ended": [4711], "left": []}] and done["left"] == [] and (run_id, "Ada") in box.cancels
    box.leftovers = [{"run_id": run_id, "ended": [], "left": [4712]}]
    assert reap(house, "this-machine", who="Ada")["left"] == [4712]


def test_the_boxs_copy_goes_only_after_age_and_with_the_last_event_named(house, box, lived):
    run = runs.get_run(house, lived)
    assert keep_to_retention(house) == {"box_copies": 0, "raw_logs": 0} and box.forgets == []
    late = replace(house, clock=Later(31))
    box.unreachable = True
    assert keep_to_retention(late)["box_copies"] == 0
    box.unreachable = False
    assert keep_to_retention(late) == {"box_copies": 1, "raw_logs": 0}
    assert box.forgets == [(lived, run["last_seq"], run["last_sha"], 30 * 86_400.0)]
    assert keep_to_retention(late)["box_copies"] == 0 and len(box.forgets) == 1


def test_raw_logs_go_by_setting_and_what_was_read_from_them_stays(house, lived):
    late = replace(house, clock=Later(91), keep_raw_days=90)
    assert keep_to_retention(late)["raw_logs"] == len(house.store.runs.raw_files(lived)) > 0
    row = house.store.runs.raw_files(lived)[0]
    assert house.store.imports.reading(row["sha256"], __import__("core.services.readings", fromlist=["x"]).reader_id()) is not None
    with pytest.raises(OutputNotUnderstood, match="kept for 90 days"):
        runs.read_raw(house, lived, row["name"])
    assert house.upkeep.compare()["equal"]


def test_a_request_is_answered_by_the_process_that_holds_the_database(house, lived, settings):
    keeper = Housekeeper(house)
    keeper.start()
    try:
        code, found = core(settings, "doctor")
        assert code == 0 and found["ok"]
        code, found = core(settings, "reap", "--box", "nowhere")
        assert code == 2 and "nowhere" in found["error"]["message"]
        code, found = core(settings, "rebuild")
        assert code == 3 and "is held by process" in found["error"]["message"]
    finally:
        keeper.close()
    assert list((settings.beside / "asked").iterdir()) == []
