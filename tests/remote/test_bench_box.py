"""What every box owes the services: the real protocol over SSH in both modes, over this machine, and the scripted fake alike."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from core.errors import InvalidInput
from core.ports.bench_box import BenchBox
from core.remote.agent_box import AgentBox
from core.remote.local_host import LocalHost
from core.remote.locked_box import LockedBox
from core.remote.ssh_host import SshHost
from tests.fakes.bench_box import ScriptedBox
from tests.remote import fake_agent
from tests.remote.locked import lock
from tests.remote.sshd_box import SshdBox

FIRST = b'{"seq":1}\n{"seq":2}\n'


@dataclass
class Case:
    """A box and a way to append to a run's file behind its back."""

    box: BenchBox
    append: Callable[[str, str, bytes], object]


@pytest.fixture(scope="module")
def gate(box: SshdBox) -> Iterator[tuple[LockedBox, Callable[[str, str, bytes], object]]]:
    """The box behind a gate, and its owner's way to its files."""
    locked = lock(box, {"e": "/bin/true"}, "/models", agent=fake_agent.build_below_the_gate())
    opened = LockedBox(SshHost(locked.address))

    def append(run_id: str, name: str, data: bytes) -> None:
        box.run_as_user(["sh", "-c", 'cat >>"$1"', "sh", f"{locked.root}/runs/{run_id}/{name}"], stdin=data)

    yield opened, append
    opened.close()


@pytest.fixture(params=["local", "ssh", "locked", "scripted"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Case]:
    if request.param == "scripted":
        fake = ScriptedBox()
        yield Case(fake, fake.append_log)
        return
    if request.param == "locked":
        yield Case(*request.getfixturevalue("gate"))
        return
    if request.param == "local":
        host, root, python = LocalHost(), str(tmp_path / "box"), [sys.executable]
    else:
        host, root, python = request.getfixturevalue("steady_host"), None, ["python3"]
    real = AgentBox(host, root=root, python=python, allow={"engines": []}, bundle=fake_agent.build)

    def append(run_id: str, name: str, data: bytes) -> None:
        host.run(["sh", "-c", 'cat >>"$1"', "sh", f"{real.root()}/runs/{run_id}/{name}"], stdin=data)

    yield Case(real, append)


@pytest.fixture
def run_id() -> str:
    return uuid4().hex


def started(case: Case, run_id: str) -> None:
    assert case.box.submit(run_id, {"run_id": run_id})["answer"] == "started"
    if isinstance(case.box, ScriptedBox):
        case.append(run_id, "events.jsonl", FIRST)


def test_probe_tells_the_python(case: Case) -> None:
    assert case.box.probe()["python"].startswith("3.")


def test_a_run_starts_once_however_often_it_is_asked(case: Case, run_id: str) -> None:
    started(case, run_id)
    assert case.box.submit(run_id, {"run_id": run_id, "later": True}) == {"answer": "already", "finished": False}
    assert case.box.read_events(run_id, 0) == FIRST


def test_state_of_a_known_and_an_unknown_run(case: Case, run_id: str) -> None:
    assert case.box.state(run_id)["known"] is False
    started(case, run_id)
    state = case.box.state(run_id)
    assert (state["known"], state["alive"], state["finished"], state["heartbeat"]) == (True, True, False, None)


def test_events_are_read_by_offset_even_inside_a_line(case: Case, run_id: str) -> None:
    assert case.box.read_events(run_id, 0) == b""
    started(case, run_id)
    assert case.box.read_events(run_id, 3, 4) == FIRST[3:7]
    assert case.box.read_events(run_id, len(FIRST)) == b""
    case.append(run_id, "events.jsonl", b'{"seq":3')
    assert case.box.read_events(run_id, len(FIRST)) == b'{"seq":3'
    assert case.box.read_events(run_id, len(FIRST) + 100) == b""


def test_logs_are_read_by_name_and_offset(case: Case, run_id: str) -> None:
    started(case, run_id)
    assert case.box.log_size(run_id, "server-1.log") is None
    assert case.box.read_log(run_id, "server-1.log", 0) == b""
    case.append(run_id, "server-1.log", b"\x00\xff\x1b[0m line")
    assert case.box.log_size(run_id, "server-1.log") == 11
    assert case.box.read_log(run_id, "server-1.log", 2, 4) == b"\x1b[0m"


def test_cancel_says_what_it_found(case: Case, run_id: str) -> None:
    assert case.box.cancel(run_id, "somebody")["answer"] == "unknown-run"
    started(case, run_id)
    assert case.box.cancel(run_id, "some body; $(id)")["answer"] == "asked"
    assert case.box.cancel(run_id, "somebody")["answer"] == "asked"


@pytest.mark.parametrize("bad", ["", "..", "../../etc", "A" * 32, "0" * 31, "0" * 32 + "\n"])
def test_other_run_ids_never_reach_the_box(case: Case, bad: str) -> None:
    calls: list[Callable[[], object]] = [
        lambda: case.box.submit(bad, {}),
        lambda: case.box.state(bad),
        lambda: case.box.cancel(bad, "me"),
        lambda: case.box.read_events(bad, 0),
        lambda: case.box.read_log(bad, "server-1.log", 0),
        lambda: case.box.log_size(bad, "server-1.log"),
    ]
    for call in calls:
        with pytest.raises(InvalidInput):
            call()


def test_other_file_names_never_reach_the_box(case: Case, run_id: str) -> None:
    for name in ("spec.json", "../allow.json", "/etc/passwd", "server-1.log\0"):
        with pytest.raises(InvalidInput):
            case.box.read_log(run_id, name, 0)
        with pytest.raises(InvalidInput):
            case.box.log_size(run_id, name)


def test_scripted_faults(run_id: str) -> None:
    from core.errors import BoxUnreachable, RemoteTimeout

    fake = ScriptedBox()
    fake.lose_answers = 1
    with pytest.raises(RemoteTimeout):
        fake.submit(run_id, {"a": 1})
    assert fake.submit(run_id, {"a": 1})["answer"] == "already"
    assert fake.starts == [run_id]
    fake.unreachable = True
    with pytest.raises(BoxUnreachable):
        fake.read_events(run_id, 0)
    fake.unreachable = False
    fake.finish(run_id)
    assert fake.state(run_id)["finished"] and not fake.state(run_id)["alive"]
    fake.busy_with = run_id
    assert fake.submit(uuid4().hex, {}) == {"answer": "busy", "by": run_id}
    assert json.dumps(fake.probe())
