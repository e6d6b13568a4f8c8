"""A control group of the run's own, where this user may make one: the kernel then ends all in it at once (cgroup v2, `cgroup.kill`)."""

from __future__ import annotations

import os
import time

_PREFIX = "draftledger-"


def make(run_id: str) -> str:
    """Path of a new group below the agent's own, "" where the box has none to give (no cgroup v2, no right, not delegated)."""
    own = _own()
    path = os.path.join(own, _PREFIX + run_id) if own else ""
    try:
        if path and not os.path.isdir(path):
            os.mkdir(path)
        return path if path and os.access(os.path.join(path, "cgroup.procs"), os.W_OK) else ""
    except OSError:
        return ""


def is_of(path: str, run_id: str) -> bool:
    """Whether a recorded path can be that run's group; anything else is never touched."""
    return os.path.basename(path) == _PREFIX + run_id and os.path.exists(os.path.join(path, "cgroup.procs"))


def door_of(path: str) -> str:
    """The file a process writes 0 to in order to enter, "" without a group."""
    return os.path.join(path, "cgroup.procs") if path else ""


def members(path: str) -> list[int]:
    """Numbers of the processes in the group; those of another process space are left out."""
    try:
        with open(door_of(path), encoding="ascii") as stream:
            return [int(line) for line in stream if line.strip() not in ("", "0")] if path else []
    except (OSError, ValueError):
        return []


def end(path: str, limit_s: float = 5.0) -> None:
    """SIGKILL to everything in the group, children that are being made included; an older kernel without it is left to the other nets."""
    try:
        with open(os.path.join(path, "cgroup.kill"), "w", encoding="ascii") as stream:
            stream.write("1")
    except OSError:
        return
    deadline = time.monotonic() + limit_s
    while members(path) and time.monotonic() < deadline:
        time.sleep(0.01)


def remove(path: str) -> None:
    """Gives an empty group back."""
    try:
        os.rmdir(path)
    except OSError:
        pass  # not empty: what is in it is named by who looked


def _own() -> str:
    """Folder of the group this process is in, "" where there is no cgroup v2."""
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as stream:
            mounted = [line.split()[1] for line in stream if line.split()[2:3] == ["cgroup2"]]
        with open("/proc/self/cgroup", encoding="utf-8", errors="replace") as stream:
            inside = [line.rstrip("\n")[3:] for line in stream if line.startswith("0::")]
    except (OSError, IndexError):
        return ""
    return os.path.join(mounted[0], inside[0].lstrip("/")) if mounted and inside else ""
