"""Faults of every kind at random moments for a given time; at the end box = ledger = database for every run and nothing of ours is left.

`make chaos` runs it for half an hour (CHAOS_S, SEED); a short one is part of every run of the tests.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from core.agent import proc
from core.agent.preflight import MIN_FREE_MIB
from core.domain.run import FINAL
from tests.means import need
from tests.remote import chaos_app
from tests.remote.scripted_box import equal_on_all_sides, events_on, install, registered
from tests.remote.sshd_box import REPO, SshdBox

LEAST = 3
BOX_MIB = MIN_FREE_MIB + 64
BEHAVIOUR = {"speeds": {"0": 100, "1": 140, "2": 170}, "pace_s": 0.2, "zoo": "zoo"}


class Chaos:
    """One chaos run: the box, the app's process, the faults and how often each was fired."""

    def __init__(self, box: SshdBox, folder: Path, seed: int) -> None:
        self.box, self.folder, self.rng = box, folder, random.Random(seed)
        self.fired: Counter[str] = Counter()
        self.app: subprocess.Popen[bytes] | None = None
        self.data = folder / "data"
        self.faults: dict[str, Callable[[], bool]] = {
            "agent killed": lambda: self.kill(".pyz", " start "),
            "engine killed": lambda: self.kill("engine.py", "--port"),
            "app killed": self.kill_app,
            "connections reset": lambda: self.through(box.resetting()),
            "link cut": self.cut,
            "packets lost": lambda: self.through(box.losing(0.2)),
            "app's disk full": lambda: self.fill(self.data),
            "box's disk full": lambda: self.fill(box.root),
        }

    def start_app(self, how: str = "ask") -> None:
        words = [sys.executable, "-m", "tests.remote.chaos_app", str(self.folder), how]
        with (self.folder / "app.log").open("ab") as log:
            self.app = subprocess.Popen(words, cwd=REPO, stdout=log, stderr=log)

    def end_app(self) -> None:
        if self.app is not None:
            self.app.send_signal(signal.SIGKILL)
            self.app.wait(20)
            self.app = None

    def kill_app(self) -> bool:
        self.end_app()
        time.sleep(self.rng.uniform(0.0, 0.5))
        self.start_app()
        return True

    def kill(self, *words: str) -> bool:
        found = [pid for pid, line in self.box.descendants() if all(word in line for word in words)]
        if found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.rng.choice(found), signal.SIGKILL)
                return True
        return False

    def through(self, fault: contextlib.AbstractContextManager[None]) -> bool:
        with fault:
            time.sleep(self.rng.uniform(0.2, 1.0))
        return True

    def cut(self) -> bool:
        self.box.cut()
        try:
            time.sleep(self.rng.uniform(0.3, 1.5))
        finally:
            self.box.heal()
        return True

    def fill(self, disk: Path) -> bool:
        filler = disk / "filler"
        try:
            with filler.open("wb", buffering=0) as stream:
                for size in (1 << 20, 1 << 12):
                    with contextlib.suppress(OSError):
                        while True:
                            stream.write(b"\0" * size)
            time.sleep(self.rng.uniform(0.3, 1.0))
        finally:
            filler.unlink()
        return True

    def go_on(self, seconds: float) -> None:
        """Fires faults until the time is over and each kind came often enough; the rarest kind that is possible now comes first."""
        end, limit = time.monotonic() + seconds, time.monotonic() + 1.5 * seconds + 20
        while time.monotonic() < end or (min(self.fired[kind] for kind in self.faults) < LEAST and time.monotonic() < limit):
            time.sleep(self.rng.uniform(0.1, 1.2))
            if self.app is None or self.app.poll() is not None:
                self.start_app()  # it refuses to begin on a full disk; whoever looks after it starts it again
            kinds = sorted(self.faults, key=lambda kind: (self.fired[kind], self.rng.random()))
            for kind in kinds[:3]:
                if self.faults[kind]():
                    self.fired[kind] += 1
                    break

    def drain(self) -> None:
        """The app follows what is under way to its end and asks for nothing more."""
        self.end_app()
        self.start_app("drain")
        assert self.app is not None
        try:
            assert self.app.wait(90) == 0, (self.folder / "app.log").read_text()[-4000:]
        finally:
            self.app = None if self.app.poll() is not None else self.app
            self.end_app()

    def nothing_left(self) -> None:
        left = [line for _, line in self.box.descendants() if not line.startswith("sshd")]
        assert left == []
        with (self.box.root / "box.lock").open("a+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        listening = {
            line.split()[1] for line in Path(f"/proc/{self.box.pid}/net/tcp").read_text().splitlines()[1:] if line.split()[3] == "0A"
        }
        assert {address.rpartition(":")[2] for address in listening} == {f"{self.box.port:04X}"}, "no port but sshd's own"
        assert proc.PROC == "/proc"


def run_chaos(folder: Path, seconds: float, seed: int) -> None:
    need("root", "namespaces", "iptables", "mount")
    print(f"chaos: seed {seed}, {seconds:.0f} s", flush=True)
    data = folder / "data"
    data.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "chaos", str(data)], check=True)
    try:
        with SshdBox(disk_mib=BOX_MIB) as box:
            behaviour = {**BEHAVIOUR, "zoo": str(box.home / "scripted" / "zoo")}
            (folder / "box.json").write_text(registered(box, install(box, **behaviour)).model_dump_json())
            chaos = Chaos(box, folder, seed)
            try:
                chaos.start_app()
                chaos.go_on(seconds)
                print("chaos: fired", dict(chaos.fired), flush=True)
                chaos.drain()
            finally:
                chaos.end_app()
            assert min(chaos.fired[kind] for kind in chaos.faults) >= LEAST, (seed, chaos.fired)
            compare(box, folder, seed)
            chaos.nothing_left()
    finally:
        subprocess.run(["umount", "--lazy", str(data)], check=True)


def compare(box: SshdBox, folder: Path, seed: int) -> None:
    services = chaos_app.opened(folder)
    try:
        found = services.house.store.runs.find(limit=100_000)
        ran = [run for run in found if events_on(box, run["run_id"])]  # a full disk can refuse a run with its first line half written
        assert ran and {run["state"] for run in found} <= set(FINAL), seed
        kinds: Counter[str] = Counter()
        for run in ran:
            kinds += equal_on_all_sides(services.house, box, run["run_id"])
        on_box = {path.name for path in (box.root / "runs").iterdir() if events_on(box, path.name)}
        assert on_box == {run["run_id"] for run in ran}, "no run on the box that nobody asked for"
        assert services.house.upkeep.compare()["equal"], seed
        print(f"chaos: {len(ran)} runs, {dict(Counter(run['state'] for run in ran))}, {kinds['sample']} repetitions", flush=True)
    finally:
        services.close()


def test_two_minutes_of_chaos_lose_and_leave_nothing(tmp_path: Path) -> None:
    run_chaos(tmp_path, 120, int(os.environ.get("SEED", random.randrange(1 << 32))))


@pytest.mark.chaos
def test_chaos(tmp_path: Path) -> None:
    run_chaos(tmp_path, float(os.environ.get("CHAOS_S", "1800")), int(os.environ.get("SEED", random.randrange(1 << 32))))
