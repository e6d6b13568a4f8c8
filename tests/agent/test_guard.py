"""The guard beside the agent: a run ends by itself after its hard lifetime though the agent hangs and nobody asks, and nothing is left."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from core.agent import proc
from core.agent.ending import Proof, close_for
from core.agent.journal import last_event
from core.agent.telemetry import Telemetry, held_since_start
from core.domain.arms import cancelled
from tests.agent.agent_box import Box, run_id_of, wait_for
from tests.agent.test_box_faults import registered
from tests.fakes import nvidia_smi

RUN = run_id_of(1)


def begun_with_a_zoo(box: Box, **limits: float) -> tuple[int, list[int]]:
    """The guard, and the children that hide, of a run whose engine does not come up."""
    register = box.root / "zoo"
    box.script(never_healthy=True, ignore_term=True, zoo=str(register))
    box.begin(limits={"over_s": 0.4, **limits})
    wait_for(lambda: len(registered(register)) >= 5, "the zoo")
    agent = proc.look(box.agent_pid())
    assert agent is not None
    return agent.ppid, registered(register)


def gone(pids: list[int]) -> bool:
    return not [pid for pid in pids if proc.look(pid)]


def test_a_hanging_agent_is_ended_after_the_lifetime_though_nobody_asks(box: Box) -> None:
    guard, zoo = begun_with_a_zoo(box, lifetime_s=6)
    os.kill(box.agent_pid(), signal.SIGSTOP)
    end = box.ended()[-1]
    assert (end["outcome"], end["reason"]["code"], end["left"], end["proof"]["ports"]) == ("failed", "lifetime", [], [])
    assert end["reason"]["text"] == "The run's lifetime of 6 s is over and the agent did not end by itself: it was ended from outside."
    wait_for(lambda: gone([guard, *zoo]), "the guard to go too")
    box.assert_clean()
    assert box.verb("start", RUN) == {"answer": "already", "finished": True}


def test_a_stop_that_a_hanging_agent_does_not_carry_out_is_carried_out(box: Box) -> None:
    guard, zoo = begun_with_a_zoo(box)
    os.kill(box.agent_pid(), signal.SIGSTOP)
    assert box.verb("cancel", RUN, "--who", "Ada") == {"answer": "asked", "left": []}
    events = box.ended()
    assert [event["who"] for event in events if event["kind"] == "cancel_seen"] == ["Ada"]
    assert (events[-1]["outcome"], events[-1]["reason"]["text"], events[-1]["left"]) == ("cancelled", "Stopped by Ada.", [])
    wait_for(lambda: gone([guard, *zoo]), "the guard to go too")
    box.assert_clean()


def test_what_a_killed_agent_leaves_is_ended_at_once_and_its_death_stays_one(box: Box) -> None:
    guard, zoo = begun_with_a_zoo(box)
    os.kill(box.agent_pid(), signal.SIGKILL)
    wait_for(lambda: gone([guard, *zoo]), "the zoo to be ended by the guard")
    box.assert_clean()
    state = box.verb("state", RUN)
    assert (state["alive"], state["finished"], box.last()["kind"]) == (False, False, "server_starting")
    assert "without a last word" in (box.folder() / "agent.log").read_text()
    assert box.verb("cancel", RUN, "--who", "Ada") == {"answer": "reaped", "left": []}


def test_a_run_goes_on_without_its_guard(box: Box) -> None:
    box.script(pace_s=0.1)
    box.begin(plan={"n_max": 1})
    agent = proc.look(box.agent_pid())
    assert agent is not None
    os.kill(agent.ppid, signal.SIGKILL)
    assert box.ended()[-1]["outcome"] == "done"
    box.assert_clean()


def test_memory_that_stays_on_the_gpu_is_told_to_whoever_comes_after_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hot = tmp_path / "hot"
    rows = [[9000, 1980, 350.5, 61], [200, 1980, 350.5, 61]]
    nvidia_smi.install(tmp_path / "bin", monkeypatch, hot_file=str(hot), moving=900, rows=rows)
    telemetry = Telemetry(str(tmp_path), "present")
    telemetry.reading()
    telemetry.stop()
    assert held_since_start(str(tmp_path)) == 0.0
    hot.touch()
    assert held_since_start(str(tmp_path), 0.0) == 900.0
    assert held_since_start(str(tmp_path / "nowhere")) is None
    proof = Proof([], [], held_since_start(str(tmp_path), 0.0))
    (tmp_path / "cancel").write_text('{"who": "Ada"}')
    close_for(str(tmp_path), cancelled("Ada"), proof)
    end = last_event(str(tmp_path / "events.jsonl"))
    assert end is not None and end["proof"] == {"ports": [], "gpu_over_mib": 900.0}
    assert end["reason"]["text"] == "Stopped by Ada. Still there: 900 MiB more GPU memory in use than before the start."
