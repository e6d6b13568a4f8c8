"""AgentBox on a real box: how the agent gets there, what its answers may look like, and what a box without Python is told."""

from __future__ import annotations

import hashlib
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from core.errors import CommandFailed, InvalidInput, PreflightRefused
from core.remote.agent_box import AgentBox
from core.remote.local_host import LocalHost
from core.remote.ssh_host import SshHost
from tests.remote import fake_agent
from tests.remote.sshd_box import SshdBox


def agent_box(host: SshHost, root: Path | str | None = None, python: tuple[str, ...] = ("python3",), main: str | None = None) -> AgentBox:
    bundle = fake_agent.build if main is None else lambda: fake_agent.pack(main)
    return AgentBox(host, root=None if root is None else str(root), python=list(python), allow={"engines": []}, bundle=bundle)


@pytest.fixture
def rc_file(box: SshdBox) -> Iterator[Path]:
    path = box.home / ".bashrc"
    yield path
    path.unlink()


def script(box: SshdBox, name: str, text: str) -> str:
    path = box.home / name
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_the_agent_arrives_once_under_its_own_hash(box: SshdBox, steady_host: SshHost) -> None:
    root = box.home / "arrives"
    agent_box(steady_host, root).probe()
    data, sha256 = fake_agent.build()
    packed = root / "agent" / f"{sha256}.pyz"
    assert packed.read_bytes() == data
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (packed, root / "allow.json")} == {0o600}
    inode = packed.stat().st_ino
    agent_box(steady_host, root).probe()
    assert packed.stat().st_ino == inode


def test_the_registration_is_what_the_agent_reads(box: SshdBox, steady_host: SshHost) -> None:
    allow = {"engines": [{"id": "e", "argv": ["/x"]}], "models": []}
    told = AgentBox(steady_host, root=str(box.home / "allow"), python=["python3"], allow=allow, bundle=fake_agent.build)
    assert told.probe()["allow"] == allow


def test_a_damaged_agent_is_replaced(box: SshdBox, steady_host: SshHost) -> None:
    root = box.home / "damaged"
    agent_box(steady_host, root).probe()
    packed = next((root / "agent").iterdir())
    packed.write_bytes(b"damaged")
    agent_box(steady_host, root).probe()
    assert hashlib.sha256(packed.read_bytes()).hexdigest() == packed.stem


def test_an_agent_that_does_not_match_its_name_is_never_started(box: SshdBox, steady_host: SshHost) -> None:
    wrong = AgentBox(steady_host, root=str(box.home / "wrong"), python=["python3"], allow={}, bundle=lambda: (b"x", "0" * 64))
    with pytest.raises(CommandFailed, match="damaged"):
        wrong.probe()


def test_a_box_that_was_cleaned_is_set_up_again(box: SshdBox, steady_host: SshHost) -> None:
    root = box.home / "cleaned"
    used = agent_box(steady_host, root)
    used.probe()
    steady_host.run(["rm", "-rf", str(root)])
    with pytest.raises(CommandFailed):
        used.probe()
    assert used.probe()["python"].startswith("3.")


def test_an_open_root_is_closed_to_others(box: SshdBox, steady_host: SshHost) -> None:
    root = box.home / "open"
    steady_host.run(["mkdir", "-m", "755", str(root)])
    agent_box(steady_host, root).probe()
    assert stat.S_IMODE(root.stat().st_mode) == 0o700


def test_a_root_of_another_user_is_refused(steady_host: SshHost, box: SshdBox) -> None:
    planted = box.home / "planted"
    planted.mkdir()
    planted.chmod(0o777)
    with pytest.raises(PreflightRefused, match="belongs to another user"):
        agent_box(steady_host, planted).probe()
    assert list(planted.iterdir()) == []
    with pytest.raises(CommandFailed, match="no right to use /usr/dl"):
        agent_box(steady_host, "/usr/dl").probe()


def test_a_noisy_login_shell_does_not_disturb(steady_host: SshHost, box: SshdBox, rc_file: Path) -> None:
    rc_file.write_text("echo 'Welcome @@draftledger {\"python\": \"1.0.0\"}'\nprintf 'no newline'\necho warning >&2\n")
    assert agent_box(steady_host, box.home / "noisy").probe()["python"].startswith("3.")


def test_a_box_without_python_is_told_the_minimum(steady_host: SshHost, box: SshdBox, rc_file: Path) -> None:
    rc_file.write_text("PATH=/nowhere\n")
    with pytest.raises(PreflightRefused) as caught:
        agent_box(steady_host, box.home / "nopython").probe()
    assert "Python 3.8 or newer: `python3` was not found there" in caught.value.message


@pytest.mark.parametrize("version", ["2.7.18", "3.6.15", "3.7.16", "1.0.0", "x"])
def test_an_old_python_is_named(steady_host: SshHost, box: SshdBox, version: str) -> None:
    old = script(box, "oldpython", f'#!/bin/sh\necho \'@@draftledger {{"python": "{version}", "own": true, "sha256": ""}}\'\n')
    with pytest.raises(PreflightRefused) as caught:
        agent_box(steady_host, box.home / "old", (old,)).probe()
    assert "Python 3.8 or newer" in caught.value.message and f"Python {version}" in caught.value.message


def test_another_interpreter_may_be_named(steady_host: SshHost, box: SshdBox) -> None:
    assert agent_box(steady_host, box.home / "named", ("/usr/bin/env", "python3", "-B")).probe()["python"].startswith("3.")


ANSWERS = {
    "nothing": "",
    "no frame": "print('hello')",
    "broken": "print('@@draftledger {\"a\": ')",
    "no object": "print('@@draftledger [1]')",
    "code": "import sys; print('@@draftledger {}'); sys.exit(3)",
    "traceback": "raise RuntimeError('boom')",
}


@pytest.mark.parametrize("main", ANSWERS.values(), ids=ANSWERS.keys())
def test_what_is_no_answer_is_a_failed_command_with_its_output(steady_host: SshHost, box: SshdBox, main: str) -> None:
    noisy = main + "\n" if "raise" in main else f"import sys; sys.stderr.write('tail \\x1b[31m of it\\n')\n{main}\n"
    with pytest.raises(CommandFailed) as caught:
        agent_box(steady_host, box.home / "answers", main=noisy).probe()
    assert "boom" in caught.value.message or "tail \\x1b[31m of it" in caught.value.message
    assert "\x1b" not in caught.value.message


def test_a_spec_stays_once_the_run_left_a_trace(steady_host: SshHost, box: SshdBox) -> None:
    run_id = uuid4().hex
    root = box.home / "specs"
    used = agent_box(steady_host, root)
    folder = root / "runs" / run_id
    steady_host.make_folder(str(folder))
    steady_host.put(b'{"half": "of a lost try"}', f"{folder}/spec.json")
    used.submit(run_id, {"name": "ünï", "n": 1})
    assert (folder / "spec.json").read_text() == '{"name": "ünï", "n": 1}'
    used.submit(run_id, {"other": 1})
    assert (folder / "spec.json").read_text() == '{"name": "ünï", "n": 1}'


def test_bad_registrations_are_refused(steady_host: SshHost) -> None:
    for root, python in (("relative", ["python3"]), ("/a\nb", ["python3"]), (None, []), (None, [""]), (None, ["python3\n"])):
        with pytest.raises(InvalidInput):
            AgentBox(steady_host, root=root, python=python, allow={})
    for who in ("", "-x", "a\nb", "x" * 201):
        with pytest.raises(InvalidInput):
            agent_box(steady_host).cancel("0" * 32, who)


def real_spec(run_id: str) -> dict[str, object]:
    prompt = "a b c"
    return {
        "format": 1,
        "run_id": run_id,
        "requested_by": "tester",
        "decision_head": "",
        "plan": {"n_max": 1, "repetitions": 3, "production_c": 1, "is_moe": False, "placement": "host-only", "first_n": 1},
        "limits": {"lifetime_s": 60, "load_s": 10, "request_s": 10, "grace_s": 1},
        "engine": {"id": "embedded"},
        "model": {"name": "not-there"},
        "arms": [{"n_max": n, "c": 1, "args": ["-m", "{model}"]} for n in (0, 1)],
        "added": {"host": "--host", "port": "--port", "api_key": "--api-key", "metrics": "--metrics", "alias": "--alias"},
        "request": {"route": "/v1/chat/completions", "max_tokens": 16, "body": {"temperature": 0}},
        "prompts": [{"id": "p1", "text": prompt, "sha256": hashlib.sha256(prompt.encode()).hexdigest()}],
        "prompt_set_sha256": "0" * 64,
    }


@pytest.mark.parametrize("kind", ["local", "ssh"])
def test_the_real_agent_speaks_the_same_protocol(kind: str, steady_host: SshHost, tmp_path: Path) -> None:
    allow: dict[str, list[str]] = {"engines": [], "models": [], "model_roots": []}
    if kind == "local":
        real = AgentBox(LocalHost(), root=str(tmp_path / "box"), python=[sys.executable], allow=allow)
    else:
        real = AgentBox(steady_host, root=None, python=["python3"], allow=allow)
    told = real.probe()
    assert (told["engines"], told["models"], told["busy"]) == ([], [], None)
    assert told["agent"] in real._prepare()
    run_id = uuid4().hex
    assert real.state(run_id)["known"] is False
    assert real.submit(run_id, real_spec(run_id))["answer"] == "started"
    assert real.submit(run_id, real_spec(run_id))["answer"] == "already"
    for _ in range(100):
        if real.state(run_id)["finished"]:
            break
        time.sleep(0.1)
    events = real.read_events(run_id, 0)
    assert b'"run_finished"' in events.splitlines()[-1]
    assert real.read_events(run_id, 10, 20) == events[10:30]
    assert real.cancel(run_id, "tester")["answer"] == "finished"
    assert real.reap() == {"reaped": []}
