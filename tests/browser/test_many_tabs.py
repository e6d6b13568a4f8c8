"""Nobody looks, then very many do: the run goes on by itself, and a tab that was closed leaves nothing behind in the app."""

from __future__ import annotations

import json
import resource
import shutil
import sys
import time
from pathlib import Path

import pytest

from core.bootstrap import build
from core.config import Settings
from core.domain.box import Box, Engine, ModelFile
from core.domain.run import DONE, new_run_id
from core.services import runs
from tests.browser.app_process import App
from tests.browser.raw_socket import tabs
from tests.remote.scripted_box import MODEL, SCRIPT

LOOP, KEPT = 3, 128  # descriptors of the event loop that the server makes for a session; sessions it keeps for a tab that may come back
SLACK = 8


def asked_for(app: App, pace_s: float) -> str:
    """A run of a local box with the scripted engine, asked for before the app starts: no page has ever shown it."""
    folder = app.folder / "scripted"
    folder.mkdir()
    shutil.copyfile(SCRIPT, folder / "engine.py")
    (folder / "script.json").write_text(json.dumps({"speeds": {"0": 100, "1": 140}, "pace_s": pace_s}))
    (folder / "made.gguf").write_bytes(MODEL)
    server = folder / "llama-server"
    server.write_text(f'#!/bin/sh\nSCRIPTED_ENGINE=$(cat {folder}/script.json) exec {sys.executable} -I -S {folder}/engine.py "$@"\n')
    server.chmod(0o755)
    services = build(Settings(db=app.database, local_dir=app.folder / "local"))
    house = services.house
    box = Box(
        box_id="near", name="near", kind="local", python=[sys.executable], engines=[Engine(id="scripted", argv=[str(server)])],
        models=[ModelFile(name="made", path=str(folder / "made.gguf"))],
    )  # fmt: skip
    house.store.boxes.put(box, who="Ada", at=house.clock.now())
    run_id = new_run_id()
    values = {"title": "t", "box_id": "near", "engine_id": "scripted", "model": "made", "workload_id": "chat-short", "n_max": 1}
    runs.start_run(house, run_id, values, who="Ada")
    services.database.close()
    services.jobs.close()
    return run_id


def held(app: App) -> tuple[int, int, float]:
    """(threads, descriptors, resident MiB) of the app."""
    assert app.process is not None
    place = Path(f"/proc/{app.process.pid}")
    said = dict(line.split(":", 1) for line in (place / "status").read_text().splitlines())
    return int(said["Threads"]), len(list((place / "fd").iterdir())), int(said["VmRSS"].split()[0]) / 1024


def settles(app: App, threads: int, descriptors: int) -> bool:
    """Whether it comes down to so much: a closed socket and its thread take a moment to go."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        found = held(app)
        if found[0] <= threads and found[1] <= descriptors:
            return True
        time.sleep(0.2)
    return False


def ledger_of(app: App, run_id: str) -> list[dict]:
    path = Path(f"{app.database}.d") / "ledger" / f"{run_id}.jsonl"
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def wait_for(holds, what: str) -> None:
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.1)


def many(folder: Path, count: int, pace_s: float) -> None:
    app = App(folder)
    run_id = asked_for(app, pace_s)
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, usual[1]), usual[1]))
    try:
        app.start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)
    try:
        assert resource.prlimit(app.process.pid, resource.RLIMIT_NOFILE)[0] == usual[1], "room for many tabs"
        wait_for(lambda: any(event["kind"] == "sample" for event in ledger_of(app, run_id)), "the run to be followed with no page open")
        with tabs(app.port, 2, page="run", query=f"run={run_id}"):
            pass  # what a first visitor makes the app load is loaded
        before = held(app)
        with tabs(app.port, count, page="run", query=f"run={run_id}") as shown:
            assert all(f"r-{run_id[:4]}".encode() in one for one in shown), "every tab was drawn"
            seen = held(app)
            assert seen[0] - before[0] < max(12, count // 2), "a tab that only stays open has no thread of its own"
            assert seen[1] - before[1] <= (LOOP + 1) * count + SLACK, "its socket and its loop: no connection to the store or to a box"
        assert settles(app, before[0] + SLACK, before[1] + LOOP * min(count, KEPT) + SLACK), (before, held(app))
        grown = held(app)[2]
        with tabs(app.port, count, page="run", query=f"run={run_id}"):
            pass
        assert settles(app, before[0] + SLACK, before[1] + LOOP * min(2 * count, KEPT) + SLACK), (before, held(app))
        again = held(app)
        assert again[2] - grown < 40 + 0.1 * count, "as many tabs a second time need no further memory"
        print(f"{count} tabs: (threads, descriptors, MiB) {before} before, {seen} open, {again} after a second round")
        wait_for(lambda: ledger_of(app, run_id)[-1]["kind"] == "run_finished", "the end of the run, nobody looking")
    finally:
        app.stop()
    left = app.end_ours()
    services = build(Settings(db=app.database, local_dir=app.folder / "local"))
    try:
        stored = services.house.store.runs.events(run_id)
        assert [event["seq"] for event in stored] == [event["seq"] for event in ledger_of(app, run_id)] == list(range(1, len(stored) + 1))
        assert runs.get_run(services.house, run_id)["state"] == DONE and left == {}
    finally:
        services.database.close()
        services.jobs.close()


def test_a11_many_tabs_hold_nothing_and_the_run_needs_none(tmp_path: Path) -> None:
    many(tmp_path, 12, pace_s=0.4)


@pytest.mark.soak
def test_a11_three_hundred_tabs(tmp_path: Path) -> None:
    many(tmp_path, 300, pace_s=2.0)
