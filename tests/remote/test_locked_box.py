"""A locked box over real SSH: the same sweep as anywhere, and what somebody with the app's key alone can and cannot do."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from contextlib import contextmanager, suppress

import pytest

from core.agent.files import Refused
from core.agent.spec import parse
from core.bootstrap import build
from core.config import Settings
from core.domain.run import FINAL, new_run_id
from core.errors import CommandFailed, PreflightRefused
from core.remote.locked_box import LockedBox
from core.remote.ssh_host import SshHost
from core.services import boxes, runs
from core.services.follow import follow_once
from core.services.matrix import matrix_rows
from tests.remote.locked import lock
from tests.remote.scripted_box import install
from tests.remote.sshd_box import SshdBox
from tests.remote.test_agent_box import real_spec

CAREFUL = b"asks the agent for runs and nothing else"


@pytest.fixture(scope="module")
def locked():
    """A box whose owner followed docs/agent.md, with an sshd that is as open as can be: only the key's line holds."""
    with SshdBox(extra="AcceptEnv *\nPermitTunnel yes\nAllowStreamLocalForwarding yes\nX11Forwarding yes") as box:
        server = install(box)
        yield lock(box, {"llama": str(server)}, str(server.parent))


@pytest.fixture(scope="module")
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
    assert report["mode"] == "locked" and report["link"]["is_strict_kex"] is True and "made" in boxes.model_names(house, box)
    run_id = new_run_id()
    values = {
        "title": "over the gate",
        "box_id": box.box_id,
        "engine_id": "llama",
        "model": "made",
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


def client(locked, *words, key=None, options=(), program="ssh"):
    """The argument list of OpenSSH's own client with the app's key."""
    address = locked.address
    known = locked.box.folder / "known"
    known.write_text(f"{address.host} {locked.box.host_key_line()}\n")
    argv = [program, "-F", "none", "-i", str(key or address.key_path), "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes"]
    where = [f"{address.user}@{address.host}"] if program == "ssh" else []
    return [*argv, "-o", f"UserKnownHostsFile={known}", *options, *where, *words]


def stolen(locked, *words, stdin=b"", wait_s=60, **more):
    return subprocess.run(client(locked, *words, **more), input=stdin, capture_output=True, timeout=wait_s, check=False)


def comes_to_nothing(locked, *words, **more):
    """Whether the client gives up, or waits for an answer that never comes: the gate waits for a line of its own."""
    try:
        return stolen(locked, *words, wait_s=1, **more).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def owned(locked):
    """Files that an intruder would have made."""
    return sorted(path.name for path in locked.box.home.rglob("*") if "owned" in path.name)


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
        ["\n touch ~/owned \n"],
        ["internal-sftp"],
        ["rsync", "--server", ".", "owned"],
    ],
)
def test_a_stolen_key_gets_no_shell_and_no_command(locked, words):
    done = stolen(locked, *words, stdin=b"touch owned\n")
    assert CAREFUL in done.stdout
    assert b"uid=" not in done.stdout and b"root:" not in done.stdout and owned(locked) == []


def test_a_stolen_key_moves_no_files(locked, tmp_path):
    (tmp_path / "owned").write_text("x")
    target, here = f"{locked.address.user}@{locked.address.host}", str(tmp_path / "taken")
    for words, options in (((str(tmp_path / "owned"), f"{target}:owned"), ()), ((f"{target}:gate-python3/box/allow.json", here), ("-O",))):
        assert comes_to_nothing(locked, *words, program="scp", options=options)  # by SFTP, as new clients do, and by the old protocol
    assert comes_to_nothing(locked, target, program="sftp", options=("-b", "-"), stdin=b"put owned\nget .bashrc\n")
    for subsystem in ("sftp", "netconf"):
        done = stolen(locked, subsystem, options=("-s",), stdin=b"\0\0\0\5\1\0\0\0\3")
        assert b"sftp" not in done.stdout and not done.stdout.startswith(b"\0")
    assert owned(locked) == [] and not (tmp_path / "taken").exists()


@contextmanager
def held_open(locked, *words, agent="", **more):
    """A client that stays, with an agent of its own where one is named; ended with the test."""
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(client(locked, *words, **more), env={**os.environ, "SSH_AUTH_SOCK": str(agent)}, **streams) as running:
        try:
            yield running
        finally:
            running.kill()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def comes_through(port, first):
    """What comes out of a forwarded port until it is quiet; the socket opens on this side whatever the other one says."""
    for _ in range(100):
        try:
            through = socket.create_connection(("127.0.0.1", port), timeout=1)
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    came = b""
    with through, suppress(TimeoutError, ConnectionResetError):
        through.sendall(first)
        while b"SSH-" not in came and (part := through.recv(100)):
            came += part
    return came


SOCKS = b"\4\1\0\x16\x7f\0\0\1\0"  # connect to 127.0.0.1:22


def test_a_stolen_key_is_no_way_into_the_network(locked):
    """Forwarding of every kind; the same asked with an unbound key of the same user shows that the box's own server would do it."""
    for key, opens in ((None, False), (locked.box.key, True)):
        for flag, first in ((["-L", "{port}:127.0.0.1:22"], b""), (["-D", "{port}"], SOCKS)):
            port = free_port()
            with held_open(locked, key=key, options=("-N", flag[0], flag[1].format(port=port))):
                assert (b"SSH-" in comes_through(port, first)) is opens, flag
        through = stolen(locked, key=key, options=("-W", "127.0.0.1:22"), stdin=b"")
        assert (b"SSH-" in through.stdout) is opens
    for back in (f"{free_port()}:127.0.0.1:22", f"{locked.box.home}/owned.sock:127.0.0.1:22"):
        done = stolen(locked, options=("-o", "ExitOnForwardFailure=yes", "-R", back))
        assert done.returncode != 0 or b"forwarding failed" in done.stderr
    assert stolen(locked, options=("-o", "ExitOnForwardFailure=yes", "-w", "9:9", "-N")).returncode != 0
    assert owned(locked) == []


def agent_sockets(box):
    """Sockets of a forwarded agent that sshd made for the box's user."""
    return [
        path for path in box.run_as_user(["sh", "-c", "ls -d /tmp/ssh-*/agent.* $HOME/.ssh/agent/* 2>/dev/null"]).stdout.split() if path
    ]


def test_a_stolen_key_gets_no_terminal_no_agent_and_no_display(locked, tmp_path):
    assert b"PTY allocation request failed" in stolen(locked, "id", options=("-tt",)).stderr
    where = tmp_path / "agent"
    with subprocess.Popen(["ssh-agent", "-D", "-a", str(where)], stdout=subprocess.DEVNULL) as agent:
        try:
            while not where.exists():
                time.sleep(0.02)
            for key, is_there in ((None, False), (locked.box.key, True)):
                with held_open(locked, "sleep", "30", key=key, agent=where, options=("-A",)):
                    word = ".pyz" if key is None else "sleep 30"
                    for _ in range(200):
                        if any(word in line for _, line in locked.box.descendants()):
                            break
                        time.sleep(0.05)
                    assert bool(agent_sockets(locked.box)) is is_there, key
        finally:
            agent.terminate()
    for key, granted in (
        (None, {"command"}),
        (locked.box.key, {"agent-forwarding", "port-forwarding", "pty", "user-rc", "x11-forwarding"}),
    ):
        told = stolen(locked, "id", key=key, options=("-v",)).stderr.decode()
        assert {word for line in told.splitlines() if "key options:" in line for word in line.partition("options:")[2].split()} == granted


@pytest.mark.parametrize("name", ["PYTHONINSPECT", "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "BASH_ENV", "SSH_ORIGINAL_COMMAND"])
def test_a_stolen_key_steers_nothing_by_its_environment(locked, name):
    """This sshd takes every variable a client sends; the gate's interpreter takes none of them."""
    value = {"PYTHONINSPECT": "1", "BASH_ENV": str(locked.box.home / "x")}.get(name, "/tmp")
    done = stolen(locked, options=("-o", f"SetEnv={name}={value}"), stdin=b'{"verb": "state"}\nimport os; os.mkdir("owned")\n')
    assert b'"answer": "refused"' in done.stdout and owned(locked) == []


@pytest.mark.parametrize(
    "line",
    [
        b"\0" * 5000 + b"\n",
        b'{"verb": "probe\0"}\n',
        b"{" * 300_000 + b"\n",
        b'{"verb": "read", "run_id": "' + b"a" * 3_000_000 + b'"}\n',
        b"\xff\n",
    ],
    ids=["nuls", "nul in a verb", "deep", "long id", "no text"],
)
def test_whatever_bytes_come_the_gate_answers_with_a_sentence(gate, line):
    done = gate.host.run(["x"], stdin=line + b"\n")
    assert b'"answer": "refused"' in done.out and b"Traceback" not in done.out + done.err


def test_a_line_without_end_is_given_up_and_fills_nothing(locked):
    done = stolen(locked, stdin=b"x" * (18 << 20))
    assert b"too long" in done.stdout and owned(locked) == []


def test_a_stolen_key_cannot_change_what_is_allowed_or_leave_the_runs(locked, gate):
    before = (locked.root / "allow.json").read_bytes()
    run_id = new_run_id()
    gate.submit(run_id, {"format": 1})
    for request in (
        {"verb": "read", "run_id": run_id, "name": "../../allow.json"},
        {"verb": "read", "run_id": run_id, "name": "spec.json"},
        {"verb": "read", "run_id": "../..", "name": "events.jsonl"},
        {"verb": "put_spec", "run_id": "../../../evil", "spec": {}},
        {"verb": "write", "run_id": run_id, "name": "allow.json", "data": "e30="},
        {"verb": "forget", "run_id": run_id, "ack": f"1:{'0' * 64}", "age_s": 0},
    ):
        done = gate.host.run(["x"], stdin=json.dumps(request).encode() + b"\n")
        assert b'"answer": "refused"' in done.out or b'"answer": "kept"' in done.out, request
    assert (locked.root / "allow.json").read_bytes() == before and owned(locked) == []
    assert sorted(path.name for path in locked.root.parent.iterdir()) == ["agent.pyz", "box"]


def arm_with(*more):
    return [{"n_max": n, "c": 1, "args": ["-m", "{model}", *more]} for n in (0, 1)]


WANTED = {
    "another program": {"engine": {"id": "sh", "argv": ["/bin/sh", "-c", "touch ~/owned"]}},
    "a file as model": {"model": {"name": "../../../etc/passwd"}},
    "a file as flag": {"arms": arm_with("--slot-save-path", "/tmp")},
    "a log": {"arms": arm_with("--log-file", "owned")},
    "an address": {"arms": arm_with("--host", "0.0.0.0")},
    "a path as value": {"arms": arm_with("-t", "/etc/passwd")},
}


def test_a_stolen_key_starts_allowed_benches_only(gate, locked):
    """Specs that the app would never write: each ends before an engine was started, and says why."""
    for what, changes in WANTED.items():
        run_id = new_run_id()
        spec = {**real_spec(run_id), "engine": {"id": "llama"}, "model": {"name": "made"}, **changes}
        assert gate.submit(run_id, spec)["answer"] == "started", what
        for _ in range(200):
            if gate.state(run_id)["finished"]:
                break
            time.sleep(0.05)
        events = [json.loads(line) for line in gate.read_events(run_id, 0).splitlines()]
        assert events[-1]["outcome"] == "failed", what
        assert events[-1]["reason"]["code"] in ("engine_missing", "model_missing", "flag_refused", "flag_unknown"), what
        assert "server_starting" not in [event["kind"] for event in events], what
    for place, flag in (("metrics", "--trust-remote-code"), ("host", "--slot-save-path"), ("alias", "--log-file"), ("api_key", "-hf")):
        run_id = new_run_id()
        spec = {**real_spec(run_id), "added": {"host": "--host", "port": "--port", place: flag}}
        assert gate.submit(run_id, spec) == {"answer": "refused", "why": f"That is no plain flag for {place}."}
    assert owned(locked) == [] and not os.path.exists("/tmp/owned")


def test_a_suite_is_named_by_its_id_and_brings_no_command():
    spec = {**real_spec("a" * 32), "suites": [{"id": "own", "runs": 1, "argv": ["/bin/touch", "owned"]}]}
    assert parse(json.dumps(spec).encode(), "a" * 32).suites == [{"id": "own", "runs": 1}]
    with pytest.raises(Refused):
        parse(json.dumps({**spec, "request": {"route": "http://elsewhere/x", "max_tokens": 9}}).encode(), "a" * 32)


def test_a_key_that_is_not_bound_to_the_gate_is_not_called_locked(locked):
    free = LockedBox(SshHost(locked.box.address()))
    with pytest.raises((PreflightRefused, CommandFailed)):
        free.probe()
    free.close()
