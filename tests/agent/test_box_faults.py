"""The box's rows of the fault table, with real means: a group that runs out of memory, a full disk, another boot, children that hide."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.agent import cgroup, leftovers, locks, proc
from core.agent.files import Refused
from tests.agent.agent_box import Box, check_chain, framed, run_id_of, wait_for
from tests.means import MEMORY, need

RUN = run_id_of(1)
ONE = {"plan": {"n_max": 1}}


def of(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["kind"] == kind]


# --- a restart of the box


def after_a_restart(box: Box, *words: str) -> dict[str, Any]:
    """A verb as the box answers it after a restart: nothing lives, and the kernel shows another boot id."""
    other = box.root / "boot_id"
    other.write_text("99999999-9999-9999-9999-999999999999\n")
    command = f'mount --bind "{other}" /proc/sys/kernel/random/boot_id && exec "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", command, "sh", *box.command(*words)], capture_output=True, text=True, timeout=60, check=True
    )
    return framed(done.stdout)


def test_b01_a_restart_is_told_from_a_crash(box: Box) -> None:
    need("root", "unshare")
    box.script(stall=True, daemons=1)
    box.begin()
    box.wait_kind("server_ready")
    measured = [event for event in box.events() if event["kind"] != "note_torn"]
    box.kill(with_guard=True)
    assert box.verb("state", RUN)["rebooted"] is False, "a crash"
    box.clear_up()
    state = after_a_restart(box, "state", RUN)
    assert (state["alive"], state["finished"], state["rebooted"]) == (False, False, True)
    assert after_a_restart(box, "reap") == {"reaped": []}, "after a restart nothing of before can live"
    assert after_a_restart(box, "start", RUN) == {"answer": "already", "finished": False}, "nothing is run again by itself"
    assert box.events()[: len(measured)] == measured


# --- no memory


@pytest.fixture
def little_memory() -> Iterator[Path]:
    """A memory group of 60 MiB."""
    need("root", "memory-cgroup")
    group = MEMORY / f"draftledger-test-{os.getpid()}"
    group.mkdir()
    (group / "memory.limit_in_bytes").write_text(str(60 << 20))
    with contextlib.suppress(OSError):
        (group / "memory.memsw.limit_in_bytes").write_text(str(60 << 20))
    yield group
    for _ in range(100):
        with contextlib.suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.05)


def in_group(box: Box, group: Path, *words: str) -> dict[str, Any]:
    command = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh", *box.command(*words)]
    return framed(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout)


def test_b02_an_engine_that_runs_out_of_memory_is_named_and_the_agent_goes_on(box: Box, little_memory: Path) -> None:
    box.script(speeds={"0": 100, "1": 140}, at={"1": {"eat_mib": 30}})
    box.numbers.append(1)
    box.put(box.spec(**ONE))
    assert in_group(box, little_memory, "start", RUN)["answer"] == "started"
    events = box.ended()
    failed = next(event for event in of(events, "stage_done") if event["status"] == "failed")
    assert (failed["stage"]["name"], failed["code"]) == ("n=1", "out_of_memory")
    assert "signal 9" in failed["reason"] and "lack of memory" in failed["reason"]
    exits = [(e["signal"], e["out_of_memory"]) for e in of(events, "server_exit") if e["how"] == "died"]
    assert exits == [(9, True)] and max(e["peak_rss_mib"] for e in of(events, "server_exit")) > 30
    assert (events[-1]["outcome"], events[-1]["stop"]["code"], events[-1]["left"]) == ("done", "memory", [])
    assert [e["stage"]["name"] for e in of(events, "stage_done")][-1] == "baseline again", "the agent lives and goes on by the rules"
    box.assert_clean()


def test_b02_a_kill_that_was_no_lack_of_memory_is_not_called_so(box: Box) -> None:
    box.script(at={"1": {"stall": True}})
    box.begin(**ONE)
    box.wait_kind("server_ready", count=2)
    os.kill(box.facts()[1]["pid"], signal.SIGKILL)
    failed = next(event for event in of(box.ended(), "stage_done") if event["status"] == "failed")
    assert failed["code"] == "engine_died"


def test_b03_the_kernel_takes_the_engine_before_its_agent(box: Box) -> None:
    box.script(stall=True)
    box.begin(**ONE)
    box.wait_kind("server_ready")
    scores = [int(Path(f"/proc/{pid}/oom_score_adj").read_text()) for pid in (box.facts()[0]["pid"], box.agent_pid())]
    assert scores[0] >= scores[1] + 500
    box.verb("cancel", RUN)
    box.ended()


# --- no disk


@contextlib.contextmanager
def mounted(*words: str, at: Path) -> Iterator[None]:
    subprocess.run(["mount", *words, str(at)], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(at)], check=True, capture_output=True)


def test_b05_a_disk_that_fills_during_a_run_is_reported_and_nothing_is_half_counted(box: Box) -> None:
    need("root", "mount")
    box.script(speeds={"0": 100, "1": 140}, at={"1": {"noise": 20 << 20}})
    box.folder().mkdir(parents=True)
    with mounted("-t", "tmpfs", "-o", "size=8m", "run", at=box.folder()):
        box.begin(plan={"n_max": 2})
        wait_for(lambda: box.last().get("kind") == "run_finished", "the end to be written in spite of the full disk")
        wait_for(lambda: not box.is_alive(), "the agent to go")
        events = box.events()
        check_chain(events)
        assert (events[-1]["outcome"], events[-1]["reason"]["code"]) == ("failed", "disk")
        counted = [e for e in of(events, "sample") if e["counted"]]
        assert events[-1]["samples"] == len(of(events, "sample"))
        assert all(e["streams"][0]["timings"]["predicted_n"] == 9 for e in counted)
        assert not [path for path in box.folder().iterdir() if path.name.endswith(".side")]
    box.assert_clean()


def test_b05_a_run_on_a_full_disk_can_still_be_stopped(box: Box) -> None:
    need("root", "mount")
    box.script(stall=True)
    box.folder().mkdir(parents=True)
    with mounted("-t", "tmpfs", "-o", "size=8m", "run", at=box.folder()):
        box.begin(**ONE)
        box.wait_kind("server_ready")
        with (box.folder() / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
            while True:
                filler.write(b"\0" * 4096)
        assert box.verb("cancel", RUN, "--who", "Ada") == {"answer": "asked", "left": []}
        wait_for(lambda: not box.is_alive(), "the agent to go")
        events = box.events()
        check_chain(events)
        assert events[-1]["left"] == [] and events[-1]["reason"]["code"] in ("cancelled", "disk")
    box.assert_clean()


def test_b06_a_root_that_cannot_be_written_is_told_before_anything_starts(box: Box) -> None:
    need("root", "mount")
    box.put(box.spec())
    with mounted("--bind", str(box.root), at=box.root):
        subprocess.run(["mount", "-o", "remount,bind,ro", str(box.root)], check=True, capture_output=True)
        for verb in (("start", RUN), ("probe",)):
            answer = box.verb(*verb)
            assert answer["answer"] == "refused" and "Read-only file system" in answer["why"]
        assert box.events() == [] if (box.folder() / "events.jsonl").exists() else True
    assert box.facts() == []


def test_b06_no_inodes_left_is_told_before_anything_starts(box: Box) -> None:
    need("root", "mount")
    box.folder().mkdir(parents=True)
    with mounted("-t", "tmpfs", "-o", "nr_inodes=3", "run", at=box.folder()):
        box.put(box.spec())
        answer = box.begin()
        assert answer["answer"] == "refused" and "No space left" in answer["why"]
    assert box.facts() == []


# --- locks, clock


def test_b20_a_folder_that_cannot_be_locked_is_refused_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(fd: object, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with pytest.raises(Refused, match="choose one on a local disk"), locks.door(str(tmp_path)):
        pass
    with pytest.raises(Refused, match="No locks available"):
        locks.take_box(str(tmp_path), RUN)


_JUMPING = """
import runpy, sys, time
real, begun = time.time, time.monotonic()
time.time = lambda: real() - (3 * 86400.0 if time.monotonic() - begun > 1.0 else 0.0)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_b17_a_clock_that_is_set_back_three_days_changes_no_duration_and_no_order(box: Box) -> None:
    box.script(speeds={"0": 100, "1": 140}, pace_s=0.2)
    box.put(box.spec(**ONE))
    box.numbers.append(1)
    command = box.command("start", RUN)
    subprocess.run([command[0], "-c", _JUMPING, *command[1:]], capture_output=True, timeout=60, check=True)
    events = box.ended()
    walls, monos = [e["wall"] for e in events], [e["mono_ns"] for e in events]
    assert min(b - a for a, b in zip(walls, walls[1:], strict=False)) < -2 * 86400, "the clock was set back during the run"
    assert monos == sorted(monos) and events[-1]["outcome"] == "done"
    for sample in of(events, "sample"):
        stream = sample["streams"][0]
        assert 0 < stream["ttft_ms"] <= stream["last_token_ms"] <= stream["wall_ms"] < 60_000 and sample["took_ms"] > 0
    assert all(0 <= done["took_s"] < 60 for done in of(events, "stage_done"))


# --- children that hide, at every moment


MOMENTS = {
    "loading": ({"never_healthy": True}, "server_starting", 1),
    "in a stream": ({"stall": True}, "server_ready", 1),
    "between stages": ({}, "verdict", 1),
    "in a later stage": ({"at": {"1": {"stall": True}}}, "server_ready", 2),
}


def registered(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def stop_with_a_zoo(box: Box, moment: str, number: int = 1) -> None:
    script, kind, count = MOMENTS[moment]
    register = box.root / f"zoo-{number}"
    box.script(**script, zoo=str(register))
    box.begin(number, limits={"grace_s": 0.3})
    box.wait_kind(kind, number, count)
    wait_for(lambda: len(registered(register)) >= 5, "the zoo")
    for _ in range(2):
        box.verb("cancel", run_id_of(number), "--who", "Ada")
    end = box.ended(number)[-1]
    assert (end["outcome"], end["left"], end["proof"]["ports"]) == ("cancelled", [], []), moment
    assert box.verb("cancel", run_id_of(number), "--who", "Ada") == {"answer": "finished", "left": []}
    assert [pid for pid in registered(register) if proc.look(pid)] == [], moment
    box.assert_clean()


@pytest.mark.parametrize("moment", MOMENTS)
def test_b22_a_stop_leaves_nothing_of_a_zoo_of_children(box: Box, moment: str) -> None:
    stop_with_a_zoo(box, moment)


@pytest.mark.soak
@pytest.mark.parametrize("moment", MOMENTS)
def test_b22_many_stops_leave_nothing(box: Box, moment: str) -> None:
    for number in range(1, 21):
        stop_with_a_zoo(box, moment, number)
    print(f"{moment}: 20 rounds")


def test_b22_a_zoo_whose_agent_was_killed_is_ended_from_outside(box: Box) -> None:
    register = box.root / "zoo"
    box.script(stall=True, zoo=str(register))
    box.begin()
    box.wait_kind("server_ready")
    box.kill(with_guard=True)
    assert box.verb("cancel", RUN, "--who", "Ada") == {"answer": "reaped", "left": []}
    assert [pid for pid in registered(register) if proc.look(pid)] == []
    box.assert_clean()


def test_b22_the_runs_control_group_is_used_and_given_back(box: Box) -> None:
    need("cgroup-kill")
    box.script(stall=True)
    box.begin()
    box.wait_kind("server_ready")
    group = json.loads((box.folder() / "agent.json").read_text())["cgroup"]
    assert cgroup.is_of(group, RUN) and box.facts()[0]["pid"] in cgroup.members(group)
    assert not cgroup.is_of(group, run_id_of(2)) and not cgroup.is_of("/sys/fs/cgroup", RUN)
    box.verb("cancel", RUN)
    box.ended()
    assert not Path(group).exists()


def test_b22_memory_that_stays_on_the_gpu_is_told(box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.fakes import nvidia_smi

    hot = tmp_path / "hot"
    nvidia_smi.install(tmp_path / "bin", monkeypatch, hot_file=str(hot), moving=900, facts=str(box.facts_path))
    box.script(stall=True)
    box.begin()
    box.wait_kind("server_ready")
    hot.touch()
    box.verb("cancel", RUN, "--who", "Ada")
    end = box.ended()[-1]
    assert end["outcome"] == "cancelled" and end["proof"]["gpu_over_mib"] == 900
    assert "900 MiB more GPU memory" in end["reason"]["text"]


# --- two at once


def two_at_once(box: Box, number: int) -> None:
    for one in (number, number + 1):
        box.put(box.spec(one), one)
    doors = [subprocess.Popen(box.command("start", run_id_of(n)), stdout=subprocess.PIPE, text=True) for n in (number, number + 1)]
    answers = [framed(process.communicate(timeout=60)[0]) for process in doors]
    assert sorted(answer["answer"] for answer in answers) == ["busy", "started"]
    winner = number + [answer["answer"] for answer in answers].index("started")
    box.verb("cancel", run_id_of(winner), "--who", "Ada")
    box.ended(winner)


@pytest.mark.soak
def test_b08_fifty_times_two_at_once(box: Box) -> None:
    box.script(stall=True)
    for number in range(1, 100, 2):
        box.numbers += [number, number + 1]
        two_at_once(box, number)
    box.assert_clean()


def test_b23_a_group_number_given_to_somebody_else_is_left_alone(box: Box) -> None:
    """A living stranger under the recorded number, with another start time."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True) as stranger:
        try:
            seen = proc.look(stranger.pid)
            assert seen is not None
            agent = {"pid": stranger.pid, "start_time": seen.start - 1, "boot_id": proc.boot_id()}
            agent["engines"] = [{"pgid": stranger.pid, "start_time": seen.start - 1}]
            assert not leftovers.is_alive(agent)
            assert leftovers.end(str(box.root), RUN, agent) == ([], [])
            assert proc.look(stranger.pid) is not None
        finally:
            stranger.kill()
