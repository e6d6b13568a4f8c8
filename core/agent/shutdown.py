"""Ending an engine so that nothing of it stays: the group first, then, round by round, every orphan that came back to the agent."""

from __future__ import annotations

import os
import signal
import subprocess
import time

from core.agent import proc
from core.agent.leftovers import kill_process

_ROUNDS_S = 10.0


def end_group(process: "subprocess.Popen[bytes]", grace_s: float) -> None:
    """SIGTERM to the group, `grace_s` for its leader to go, SIGKILL to what is left of it."""
    signal_group(process.pid, signal.SIGTERM)
    try:
        process.wait(grace_s)
    except subprocess.TimeoutExpired:
        pass
    signal_group(process.pid, signal.SIGKILL)
    try:
        process.wait(5.0)
    except subprocess.TimeoutExpired:
        pass  # stuck in the kernel; the family rounds report it


def signal_group(pgid: int, number: int) -> None:
    try:
        os.killpg(pgid, number)
    except OSError:
        pass  # the whole group is gone


def end_family() -> list[int]:
    """Kills everything below this process until a round finds nothing. Returns the numbers of what could not be ended."""
    deadline = time.monotonic() + _ROUNDS_S
    while True:
        found = proc.descendants(os.getpid())
        for item in found:
            kill_process(item)
        _collect()
        if not found:
            return []
        if time.monotonic() > deadline:
            return [item.pid for item in found]
        time.sleep(0.01)


def _collect() -> None:
    for pid in proc.zombies_of(os.getpid()):
        try:
            os.waitpid(pid, os.WNOHANG)
        except OSError:
            pass  # collected elsewhere
