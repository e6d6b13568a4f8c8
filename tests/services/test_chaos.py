"""kill -9 at random moments: what the box wrote = ledger = database, each event once. The seed is printed by a failing assertion."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.bootstrap import build
from core.config import Settings
from core.domain.run import new_run_id
from core.ports.bench_box import BenchBox
from core.services import runs
from core.services.follow import follow_once
from tests.fakes.event_lines import LOAD_LOG, EventLines
from tests.services.conftest import PROBE, REQUEST

ROOT = Path(__file__).resolve().parents[2]


class FileBox(BenchBox):
    """A run folder that a test writes and torn reads of it: each read hands out a random piece."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.folder, self.rng = folder, rng

    def probe(self):
        return PROBE | {"gpus": {"state": "none"}}

    def submit(self, run_id, spec):
        return {"answer": "started"}

    def state(self, run_id):
        return {"known": True, "alive": True, "finished": False, "heartbeat": None}

    def cancel(self, run_id, who):
        return {"answer": "asked", "left": []}

    def reap(self):
        return {"reaped": []}

    def forget(self, run_id, *, seq, sha, age_s):
        return {"answer": "kept", "why": "scripted"}

    def read_events(self, run_id, offset, limit=1 << 20):
        data = (self.folder / "events.jsonl").read_bytes()
        return data[offset : offset + self.rng.randint(1, 9000)]

    def read_log(self, run_id, name, offset, limit=1 << 20):
        return LOAD_LOG.encode()[offset : offset + limit] if name.startswith("server") else b""

    def log_size(self, run_id, name):
        return len(LOAD_LOG) if name.startswith("server") else None


def follow_until_killed(folder: str, run_id: str, seed: str) -> None:
    """The child: follows without an end, says when it is at it."""
    from dataclasses import replace

    path = Path(folder)
    services = build(Settings(db=path / "c.duckdb", local_dir=path / "local"))
    house = replace(services.house, open_box=lambda _: FileBox(path, random.Random(int(seed))), make_model=lambda name, progress: path)
    print("up", flush=True)
    while runs.get_run(house, run_id)["ended_at"] is None:
        follow_once(house, run_id)
        time.sleep(0.005)


def chaos(tmp_path, kills: int, seed: int) -> None:
    rng = random.Random(seed)
    run_id = new_run_id()
    lines = EventLines(run_id)
    lines.whole_sweep(off=[10.0, 10.1, 10.2], steps={n: [10.0 + n, 10.1 + n, 10.2 + n] for n in range(1, 9)})
    (tmp_path / "events.jsonl").write_bytes(lines.take())
    services = build(Settings(db=tmp_path / "c.duckdb", local_dir=tmp_path / "local"))
    runs.start_run(services.house, run_id, {**REQUEST, "n_max": 8}, who="Ada")
    services.database.close()
    services.jobs.close()
    for turn in range(kills + 1):
        word = f"from tests.services.test_chaos import follow_until_killed as f; f({str(tmp_path)!r}, {run_id!r}, {str(seed + turn)!r})"
        child = subprocess.Popen([sys.executable, "-c", word], cwd=ROOT, stdout=subprocess.PIPE)
        assert child.stdout is not None and child.stdout.readline() == b"up\n"
        if turn < kills:
            time.sleep(rng.uniform(0.0, 0.25))
            child.send_signal(signal.SIGKILL)
        child.wait(120)
        child.stdout.close()
    written = [json.loads(line) for line in (tmp_path / "events.jsonl").read_bytes().splitlines()]
    services = build(Settings(db=tmp_path / "c.duckdb", local_dir=tmp_path / "local"))
    stored = services.house.store.runs.events(run_id)
    samples = services.house.store.cells.samples(run_id)
    ledger = (tmp_path / "c.duckdb.d" / "ledger" / f"{run_id}.jsonl").read_bytes()
    state = runs.get_run(services.house, run_id)["state"]
    services.database.close()
    services.jobs.close()
    assert state == "done", seed
    assert [e["seq"] for e in stored] == [e["seq"] for e in written], seed
    assert ledger == (tmp_path / "events.jsonl").read_bytes(), seed
    assert [(s["seq"], s["tok_per_s"]) for s in samples] == [(e["seq"], e["tok_s"]) for e in written if e["kind"] == "sample"], seed


def test_killed_followers_lose_and_double_nothing(tmp_path):
    chaos(tmp_path, kills=4, seed=20261129)


@pytest.mark.soak
def test_many_kills(tmp_path):
    chaos(tmp_path, kills=100, seed=int(os.environ.get("SEED", "1")))
