"""Ends what a dead agent left behind: found by recorded process group, environment tag or the held lock, never by name."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from core.agent import cgroup, locks, proc
from core.agent.files import RUN_ID, read_object

_ROUNDS_S = 5.0


def read_agent(folder: str) -> dict[str, Any]:
    """What the run's agent wrote about itself: pid, start_time, boot_id, engines; {} when it never started."""
    return read_object(os.path.join(folder, "agent.json"))


def is_alive(agent: dict[str, Any], proc_root: str = proc.PROC) -> bool:
    """Whether that very agent lives: number, start time and boot all match."""
    try:
        return bool(agent) and proc.is_same(int(agent["pid"]), int(agent["start_time"]), str(agent["boot_id"]), proc_root)
    except (KeyError, TypeError, ValueError):
        return False


def who_asked(folder: str) -> str:
    """Who asked the run to stop, by its marker file."""
    return str(read_object(os.path.join(folder, "cancel")).get("who") or "somebody")[:200]


def find(root: str, run_id: str, agent: dict[str, Any], proc_root: str = proc.PROC) -> list[proc.Process]:
    """What still lives of a run whose agent is dead. After a reboot nothing can."""
    if agent and str(agent.get("boot_id")) != proc.boot_id(proc_root):
        return []
    found = {item.pid: item for item in proc.tagged(run_id, proc_root)}
    for engine in engines(agent):
        found.update({item.pid: item for item in _group(engine, proc_root)})
    found.update({item.pid: item for item in _grouped(run_id, agent, proc_root)})
    if locks.box_holder(root) == run_id:
        found.update({item.pid: item for item in proc.holders(locks.box_path(root), proc_root)})
    found.pop(os.getpid(), None)
    return list(found.values())


def _grouped(run_id: str, agent: dict[str, Any], proc_root: str) -> list[proc.Process]:
    """Members of the run's control group."""
    path = str(agent.get("cgroup") or "")
    listed = [proc.look(pid, proc_root) for pid in cgroup.members(path)] if cgroup.is_of(path, run_id) else []
    return [item for item in listed if item is not None]


def engines(agent: dict[str, Any]) -> list[dict[str, Any]]:
    """Engines the agent wrote down: {pgid, start_time, port}."""
    listed = agent.get("engines")
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def _group(engine: dict[str, Any], proc_root: str) -> list[proc.Process]:
    """Members of a recorded group. A group number is not given away while a member lives, so a leader that started
    at another moment means that the group is a stranger's; with the leader gone its members must be younger than it was."""
    try:
        pgid, start = int(engine["pgid"]), int(engine["start_time"])
    except (KeyError, TypeError, ValueError):
        return []
    if pgid <= 1:
        return []
    leader = proc.look(pgid, proc_root)
    if leader is not None and leader.start != start:
        return []
    return [item for item in proc.processes(proc_root) if item.pgrp == pgid and item.start >= start]


def end(root: str, run_id: str, agent: dict[str, Any]) -> tuple[list[int], list[int]]:
    """Kills in rounds until a round finds nothing: (ended, still alive)."""
    ended = set()  # type: set[int]
    deadline, group = time.monotonic() + _ROUNDS_S, str(agent.get("cgroup") or "")
    while True:
        found = find(root, run_id, agent)
        if not found or time.monotonic() > deadline:
            left = [item.pid for item in found]
            if not left and cgroup.is_of(group, run_id):
                cgroup.remove(group)
            return sorted(ended - set(left)), left
        for item in found:
            kill_process(item)
            ended.add(item.pid)
        time.sleep(0.03)


def kill_process(item: proc.Process) -> None:
    """SIGKILL, if the number still means that process."""
    now = proc.look(item.pid)
    if now is None or now.start != item.start:
        return
    try:
        os.kill(item.pid, signal.SIGKILL)
    except OSError:
        pass  # gone meanwhile, or not ours to end: the caller sees it in the next round


def runs(root: str) -> list[str]:
    try:
        names = os.listdir(os.path.join(root, "runs"))
    except OSError:
        return []
    return sorted(name for name in names if RUN_ID.match(name))


def busy(root: str) -> dict[str, Any] | None:
    """{"run_id", "pid"} of the run that has the box, None when it is free. Call inside `door`."""
    if locks.box_is_free(root):
        return None
    run_id = locks.box_holder(root)
    agent = read_agent(os.path.join(root, "runs", run_id)) if run_id else {}
    return {"run_id": run_id, "pid": agent.get("pid") if is_alive(agent) else None}
