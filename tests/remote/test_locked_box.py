"""A locked box over real SSH: the same sweep as anywhere, and what somebody with the app's key alone can and cannot do."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.__main__ import main
from core.bootstrap import build
from core.config import Settings
from core.domain.run import FINAL, new_run_id
from core.errors import CommandFailed, PreflightRefused
from core.remote.locked_box import LockedBox
from core.remote.ssh_host import SshAddress, SshHost
from core.services import boxes, runs
from core.services.follow import follow_once
from core.services.matrix import matrix_rows
from tests.remote.box_engine import install_engine
from tests.remote.sshd_box import SshdBox

SCRIPTED = Path(__file__).parents[1] / "fakes" / "scripted_engine.py"


@dataclass
class Locked:
    """A box whose owner followed docs/agent.md, and the app's key for it."""

    box: SshdBox
    address: SshAddress
    root: Path


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    with SshdBox() as box:
        installed = install_engine(box)  # for its model; the engine claims its figures, so that the sweep takes seconds
        server = box.home / "scripted-server"
        shutil.copyfile(SCRIPTED, box.home / "scripted_engine.py")
        server.write_text(f'#!/bin/sh\nexec /usr/bin/python3 -I -S {box.home}/scripted_engine.py "$@"\n')
        server.chmod(0o755)
        key = box.new_key("locked")
        kit, place = tmp_path_factory.mktemp("kit"), box.home / "gate"
        models = str(Path(installed.models["made-moe"]).parent)
        words = ["--engine", f"llama={server}", "--models", models, "--install-at", str(place), "--python", "/usr/bin/python3"]
        assert main(["gate-kit", str(kit), "--public-key", f"{key}.pub", *words]) == 0
        for name, target in (("agent.pyz", place / "agent.pyz"), ("allow.json", place / "box" / "allow.json")):
            box.run_as_user(["mkdir", "-p", "-m", "700", str(target.parent)])
            box.run_as_user(["sh", "-c", 'cat >"$1"', "sh", str(target)], stdin=(kit / name).read_bytes())
        box.accept_line((kit / "authorized_keys.line").read_text())
        yield Locked(box, box.address(key_path=str(key)), place / "box")


@pytest.fixture
def gate(locked):
    opened = LockedBox(SshHost(locked.address))
    yield opened
    opened.close()


def test_the_same_sweep_over_the_gate(locked, tmp_path):
    services = build(Settings(db=tmp_path / "t.duckdb", local_dir=tmp_path / "local", grace_s=1.0))
    house, address = services.house, locked.address
    form = {
        "name": "shared",
        "mode": "locked",
        "host": address.host,
        "user": address.user,
        "key_path": address.key_path,
        "engine": "llama",
        "models": "",
    }
    checked, line, fingerprint = boxes.read_host_key(house, form)
    box = boxes.add_box(house, checked, key_line=line, fingerprint=fingerprint, who="Ada")
    report = boxes.check_box(house, box.box_id)
    assert report["mode"] == "locked" and report["link"]["is_strict_kex"] is True and "made-moe" in boxes.model_names(house, box)
    run_id = new_run_id()
    values = {
        "title": "over the gate",
        "box_id": box.box_id,
        "engine_id": "llama",
        "model": "made-moe",
        "workload_id": "chat-short",
        "n_max": 1,
    }
    runs.start_run(house, run_id, values, who="Ada")
    end = time.monotonic() + 150
    while runs.get_run(house, run_id)["state"] not in FINAL:
        assert time.monotonic() < end, runs.show_run(house, run_id)
        follow_once(house, run_id)
        time.sleep(0.2)
    assert runs.get_run(house, run_id)["state"] == "done", runs.get_run(house, run_id)
    row = next(row for row in matrix_rows(house, provenance="measured") if row["run_id"] == run_id)
    assert row["cells"]["off"]["n"] >= 3 and row["cells"]["1"]["n"] >= 3
    assert "server-1.log" in [file["name"] for file in house.store.runs.raw_files(run_id)]
    second = new_run_id()
    runs.start_run(house, second, values, who="Ada")
    follow_once(house, second)
    runs.stop_run(house, second, who="Ada")
    while runs.get_run(house, second)["state"] not in FINAL:
        follow_once(house, second)
        time.sleep(0.1)
    assert runs.get_run(house, second)["state"] == "cancelled"
    services.database.close()
    services.jobs.close()


def stolen(locked, *words, options=(), stdin=b""):
    """OpenSSH's own client with the app's key."""
    address = locked.address
    known = f"{address.host} {locked.box.host_key_line()}\n"
    (locked.box.folder / "known").write_text(known)
    argv = ["ssh", "-F", "none", "-i", str(address.key_path), "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes"]
    argv += ["-o", f"UserKnownHostsFile={locked.box.folder / 'known'}", *options, f"{address.user}@{address.host}", *words]
    return subprocess.run(argv, input=stdin, capture_output=True, timeout=30, check=False)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["id"],
        ["cat", "/etc/passwd"],
        ["bash", "-c", "touch ~/owned"],
        ["scp", "-t", "/tmp"],
        ["draftledger; touch ~/owned"],
        ["$(touch ~/owned)"],
    ],
)
def test_a_stolen_key_gets_no_shell_and_no_command(locked, words):
    done = stolen(locked, *words, stdin=b"touch owned\n")
    assert b"asks the agent for runs and nothing else" in done.stdout
    assert b"uid=" not in done.stdout and b"root:" not in done.stdout and not (locked.box.home / "owned").exists()


def test_a_stolen_key_gets_no_files_no_terminal_and_no_way_on(locked):
    assert b"sftp" not in stolen(locked, "sftp", options=("-s",), stdin=b"\0\0\0\5\1\0\0\0\3").stdout
    assert b"PTY allocation request failed" in stolen(locked, "id", options=("-tt",)).stderr
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    forward = stolen(locked, options=("-o", "ExitOnForwardFailure=yes", "-R", f"{port}:127.0.0.1:22"))
    assert forward.returncode != 0 or b"forwarding failed" in forward.stderr
    through = stolen(locked, options=("-W", "127.0.0.1:22"))
    assert through.returncode != 0 and b"SSH-" not in through.stdout


def test_a_stolen_key_cannot_change_what_is_allowed_or_leave_the_runs(locked, gate):
    before = (locked.root / "allow.json").read_bytes()
    run_id = new_run_id()
    spec = {
        "format": 1,
        "run_id": run_id,
        "engine": {"id": "llama", "argv": ["/bin/sh", "-c", "touch ~/owned"]},
        "model": {"name": "../../x"},
    }
    answer = gate.submit(run_id, spec)
    assert answer["answer"] == "refused"
    for request in (
        {"verb": "read", "run_id": run_id, "name": "../../allow.json"},
        {"verb": "read", "run_id": "../..", "name": "events.jsonl"},
        {"verb": "put_spec", "run_id": "../../../evil", "spec": {}},
        {"verb": "write", "run_id": run_id, "name": "allow.json", "data": "e30="},
    ):
        done = gate.host.run(["x"], stdin=json.dumps(request).encode() + b"\n")
        assert b'"answer": "refused"' in done.out
    assert (locked.root / "allow.json").read_bytes() == before and not (locked.box.home / "owned").exists()
    assert sorted(path.name for path in (locked.box.home / "gate").iterdir()) == ["agent.pyz", "box"]


def test_a_key_that_is_not_bound_to_the_gate_is_not_called_locked(locked):
    free = LockedBox(SshHost(locked.box.address()))
    with pytest.raises((PreflightRefused, CommandFailed)):
        free.probe()
    free.close()
