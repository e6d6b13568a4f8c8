"""A house with a box over real SSH that has the scripted engine: runs of a few seconds whose every number is known."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.agent import journal
from core.bootstrap import Services, build
from core.config import Settings
from core.domain.box import Box, Engine, ModelFile
from core.domain.run import FINAL, new_run_id
from core.ports.bench_box import BenchBox
from core.remote.agent_box import AgentBox
from core.remote.locked_box import LockedBox
from core.remote.ssh_host import SshHost, SshLimits
from core.remote.ssh_link import DEFAULT_LIMITS
from core.services import runs
from core.services.house import House
from tests.agent.test_agent_parts import ARCH, gguf, number
from tests.remote.locked import LOCKED, STANDARD, lock
from tests.remote.sshd_box import SshdBox

SCRIPT = Path(__file__).parents[1] / "fakes" / "scripted_engine.py"
BOX_ID = "far"
MODEL = gguf(ARCH, ("glm4moe.block_count", 4, number(3)), ("glm4moe.nextn_predict_layers", 4, number(1)))


def install(box: SshdBox, **behaviour: Any) -> Path:
    """The scripted engine in the box user's home, with what it does from its next start on; path of its executable."""
    folder = box.home / "scripted"
    folder.mkdir(exist_ok=True)
    shutil.copyfile(SCRIPT, folder / "engine.py")
    (folder / "script.json").write_text(json.dumps({"facts": str(folder / "facts.jsonl"), **behaviour}))
    (folder / "made.gguf").write_bytes(MODEL)
    server = folder / "llama-server"
    server.write_text(f'#!/bin/sh\nSCRIPTED_ENGINE=$(cat {folder}/script.json) exec python3 -I -S {folder}/engine.py "$@"\n')
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755)
        os.chown(path, box.uid, box.gid)
    return server


def registered(box: SshdBox, server: Path, python: str = "python3") -> Box:
    address = box.address()
    return Box(
        box_id=BOX_ID, name=BOX_ID, kind="ssh", host=address.host, port=address.port, user=address.user, key_path=str(address.key_path),
        host_key=str(address.pinned_key), fingerprint=box.host_fingerprint(), python=[python],
        engines=[Engine(id="scripted", argv=[str(server)])], models=[ModelFile(name="made", path=str(server.parent / "made.gguf"))],
    )  # fmt: skip


@contextmanager
def house_with(
    box: SshdBox, folder: Path, *, mode: str = STANDARD, limits: SshLimits = DEFAULT_LIMITS, python: str = "python3", **behaviour: Any
) -> Iterator[Services]:
    """The app's services, their follower not started, with the box registered; in locked mode behind a gate of this house's own."""
    server = install(box, **behaviour)
    far = registered(box, server, python)
    if mode == LOCKED:
        locked = lock(box, {"scripted": str(server)}, str(server.parent), python=python if "/" in python else f"/usr/bin/{python}")
        far = far.model_copy(update={"mode": LOCKED, "key_path": str(locked.address.key_path)})
    services = build(Settings(db=folder / "t.duckdb", local_dir=folder / "local", grace_s=0.5, poll_s=0.15))
    opened: dict[str, tuple[Box, BenchBox]] = {}

    def open_box(asked: Box) -> BenchBox:
        if asked.box_id not in opened or opened[asked.box_id][0] != asked:
            host = SshHost(box.address(host=asked.host, pinned_key=asked.host_key, key_path=asked.key_path), limits)
            made = LockedBox(host) if mode == LOCKED else AgentBox(host, root=None, python=list(asked.python), allow=asked.allow())
            opened[asked.box_id] = (asked, made)
        return opened[asked.box_id][1]

    house = replace(services.house, open_box=open_box)
    services.follower._house = house
    house.store.boxes.put(far, who="Ada", at=house.clock.now())
    house.store.boxes.add_check(BOX_ID, {"models": [{"name": "made"}]}, ok=True, at=house.clock.now())
    try:
        yield replace(services, house=house)
    finally:
        services.close()
        for _, far_box in opened.values():
            far_box.close()


def ask(house: House, **changes: Any) -> str:
    run_id = new_run_id()
    values = {"title": "t", "box_id": BOX_ID, "engine_id": "scripted", "model": "made", "workload_id": "chat-short", "n_max": 1}
    runs.start_run(house, run_id, {**values, **changes}, who="Ada")
    return run_id


def wait_for(holds: Callable[[], object], what: str, limit_s: float = 40.0) -> None:
    deadline = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.05)


def ends(house: House, run_id: str, limit_s: float = 40.0) -> dict[str, Any]:
    """The run once it is over, however it ended."""
    wait_for(lambda: runs.get_run(house, run_id)["state"] in FINAL, f"the end of {runs.get_run(house, run_id)}", limit_s)
    return runs.get_run(house, run_id)


def events_file(box: SshdBox, run_id: str) -> Path:
    """Where the run's events lie on the box, in either mode."""
    roots = [box.home / ".draftledger", *box.home.glob("gate-*/box")]
    return next((path for root in roots if (path := root / "runs" / run_id / "events.jsonl").exists()), roots[0] / "runs" / run_id / "none")


def events_on(box: SshdBox, run_id: str) -> list[dict[str, Any]]:
    path = events_file(box, run_id)
    if not path.exists():
        return []
    return [event for event in map(journal.whole_event, path.read_bytes().split(b"\n")) if event is not None]


def equal_on_all_sides(house: House, box: SshdBox, run_id: str) -> Counter[str]:
    """Box = ledger = database, each event and each repetition once. Kinds of events, counted."""
    there = events_file(box, run_id).read_bytes()
    assert (house.archive.folder / "ledger" / f"{run_id}.jsonl").read_bytes() == there[: there.rfind(b"\n") + 1], "a torn end is no event"
    written, stored = events_on(box, run_id), house.store.runs.events(run_id)
    assert [(e["seq"], e["kind"]) for e in stored] == [(e["seq"], e["kind"]) for e in written]
    assert [e["seq"] for e in written] == list(range(1, len(written) + 1))
    cells = [(s["seq"], s["stage"], s["repetition"], s["tok_per_s"]) for s in house.store.cells.samples(run_id)]
    assert cells == [(e["seq"], e["stage"]["name"], e["repetition"], e["tok_s"]) for e in written if e["kind"] == "sample"]
    assert len(cells) == len(set(cells))
    return Counter(event["kind"] for event in written)
