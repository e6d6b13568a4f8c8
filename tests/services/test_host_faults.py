"""Faults of the app's own computer while runs go on: a full disk, a restart, leftovers of a dead agent on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from core.agent import proc
from core.bootstrap import build
from core.config import ROOT, Settings
from core.domain.run import DONE, new_run_id
from core.errors import StoreError
from core.services import runs
from core.services.doctor import doctor
from core.services.follow import follow_once
from core.services.follower import Follower
from core.services.start_up import unsaved
from tests.fakes.event_lines import EventLines
from tests.services.conftest import REQUEST
from tests.store.test_faults import fill


@pytest.fixture
def small_disk(tmp_path):
    """A 24 MB disk of its own."""
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(place)], check=True)
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def whole_sweep(run_id: str) -> bytes:
    lines = EventLines(run_id)
    lines.whole_sweep(off=[10.0, 10.1, 10.2], steps={1: [12.0, 12.1, 12.2], 2: [13.0, 13.1, 13.2]})
    return lines.take()


def test_a07_a_full_disk_ends_no_run_and_the_follower_goes_on_by_itself(small_disk, box):
    services = build(Settings(db=small_disk / "t.duckdb", local_dir=small_disk / "local"))
    house = replace(services.house, open_box=lambda _: box, make_model=lambda name, progress: small_disk)
    run_id = new_run_id()
    runs.start_run(house, run_id, REQUEST, who="Ada")
    follow_once(house, run_id)
    fill(small_disk / "ballast")
    box.append_events(run_id, whole_sweep(run_id))
    box.finish(run_id)
    with pytest.raises((StoreError, OSError)):
        follow_once(house, run_id)
    follower = Follower(house, poll_s=0.05)
    follower._look(run_id)
    run = runs.get_run(house, run_id)
    assert run["state"] == "running" and run["ended_at"] is None, "a full disk here says nothing about the run there"
    (small_disk / "ballast").unlink()
    follower._look(run_id)
    assert runs.get_run(house, run_id)["state"] == DONE
    written = [json.loads(line) for line in whole_sweep(run_id).splitlines()]
    assert [event["seq"] for event in house.store.runs.events(run_id)] == [event["seq"] for event in written]
    assert (small_disk / "t.duckdb.d" / "ledger" / f"{run_id}.jsonl").read_bytes() == whole_sweep(run_id)
    assert house.upkeep.compare()["equal"]
    services.close()


def test_a02_after_a_restart_the_run_is_taken_up_and_not_started_again(house, box, settings, start):
    run_id = start()
    follow_once(house, run_id)
    whole = whole_sweep(run_id)
    cut = whole.index(b"\n", len(whole) // 2) + 1
    box.append_events(run_id, whole[:cut])
    follow_once(house, run_id)
    house.upkeep._database.close()
    services = build(settings)
    try:
        again = replace(services.house, open_box=lambda _: box)
        box.append_events(run_id, whole[cut:])
        box.finish(run_id)
        follow_once(again, run_id)
        assert box.starts == [run_id] and runs.get_run(again, run_id)["state"] == DONE
        assert len(again.store.runs.events(run_id)) == len(whole.splitlines())
    finally:
        services.close()


def test_b03_reap_from_outside_ends_what_a_dead_agent_left_on_this_machine(tmp_path):
    run_id, local = "ab" * 16, tmp_path / "local"
    folder = local / "box" / "runs" / run_id
    folder.mkdir(parents=True)
    gone = subprocess.Popen([sys.executable, "-c", "pass"])
    gone.wait()
    (folder / "agent.json").write_text(json.dumps({"pid": gone.pid, "start_time": 1, "boot_id": proc.boot_id(), "engines": []}))
    tagged = {**os.environ, proc.TAG: run_id}
    left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"], env=tagged, start_new_session=True)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "core", "reap", "--box", "this-machine", "--db", str(tmp_path / "r.duckdb"), "--json"],
            cwd=ROOT, capture_output=True, timeout=120, check=False, env={**os.environ, "DRAFTLEDGER_LOCAL_DIR": str(local)},
        )  # fmt: skip
        assert left.wait(30) == -9
    finally:
        left.kill()
    answer = json.loads(done.stdout)
    assert done.returncode == 0 and answer["reaped"] == [{"run_id": run_id, "ended": [left.pid], "left": []}] and answer["left"] == []


def started_on_a_full_disk(place, prepare=lambda database: None):
    """The app's second start, on a disk that filled up after the first; `prepare` changes what the first one left."""
    settings = Settings(db=place / "t.duckdb", local_dir=place / "local")
    first = build(settings)
    prepare(first.database)
    first.database.close()
    first.jobs.close()
    fill(place / "ballast")
    return build(settings)


def test_a07_the_app_starts_on_a_full_disk(small_disk):
    services = started_on_a_full_disk(small_disk)
    assert services.house.unsaved == {} and services.house.store.published.cells(), "nothing is new, so nothing has to be written"
    assert services.house.upkeep.holder()["pid"] == os.getpid()
    services.database.close()
    services.jobs.close()


def test_a07_what_the_start_cannot_save_is_told_and_saved_when_there_is_room(small_disk):
    def without_figures(database):
        with database.tx(recorded=False) as writing:
            writing.execute("DELETE FROM published_cells")

    services = started_on_a_full_disk(small_disk, without_figures)
    house, name = services.house, "The published reference figures"
    assert list(house.unsaved) == [name] and house.store.boxes.all()
    (told,) = unsaved(house)
    assert told.title == "Not saved" and told.message.startswith(f"{name} could not be saved when the app started. The disk is full")
    assert told.message in [finding["what"] for finding in doctor(house, ask_boxes=False, compare=False)["findings"]]
    services.housekeeper.finish_the_start()
    assert list(house.unsaved) == [name]
    (small_disk / "ballast").unlink()
    services.housekeeper.finish_the_start()
    assert house.unsaved == {} and house.store.published.cells()
    services.database.close()
    services.jobs.close()


def test_a07_a_first_start_on_a_full_disk_leaves_nothing_that_stops_the_next(small_disk):
    settings = Settings(db=small_disk / "t.duckdb", local_dir=small_disk / "local")
    fill(small_disk / "ballast")
    with pytest.raises(StoreError, match="disk is full"):
        build(settings)
    assert not settings.database.exists()
    (small_disk / "ballast").unlink()
    services = build(settings)
    assert services.house.unsaved == {}
    services.database.close()
    services.jobs.close()
