"""What the kernel says about processes: who lives, who belongs to whom, who holds a file or listens on a port. Linux."""

from __future__ import annotations

import ctypes
import os
from typing import NamedTuple

PROC = "/proc"
TAG = "DRAFTLEDGER_RUN"
_PR_SET_CHILD_SUBREAPER = 36
_LISTEN = "0A"


class Process(NamedTuple):
    """`start` in clock ticks since boot: with the boot id it tells a process from a later one with the same number."""

    pid: int
    name: str
    state: str
    ppid: int
    pgrp: int
    start: int


def look(pid: int, proc: str = PROC) -> Process | None:
    """The process with this number, None when there is none or only its entry is left (zombie)."""
    found = _look_raw(pid, proc)
    return None if found is None or found.state in "ZX" else found


def _look_raw(pid: int, proc: str) -> Process | None:
    try:
        with open("%s/%d/stat" % (proc, pid), "rb") as stream:
            text = stream.read(4096).decode("utf-8", "replace")
        head, _, rest = text.rpartition(")")  # the name may hold spaces and brackets itself
        fields = rest.split()
        return Process(pid, head.partition("(")[2], fields[0], int(fields[1]), int(fields[2]), int(fields[19]))
    except (OSError, ValueError, IndexError):
        return None


def processes(proc: str = PROC) -> list[Process]:
    """All living processes that can be seen."""
    found = [look(int(name), proc) for name in os.listdir(proc) if name.isdigit()]
    return [item for item in found if item is not None]


def boot_id(proc: str = PROC) -> str:
    try:
        with open(proc + "/sys/kernel/random/boot_id", encoding="ascii") as stream:
            return stream.read(64).strip()
    except OSError:
        return ""


def is_same(pid: int, start: int, boot: str, proc: str = PROC) -> bool:
    """Whether that very process still lives: number, start time and boot all match."""
    found = look(pid, proc)
    return found is not None and found.start == start and boot == boot_id(proc)


def descendants(pid: int, proc: str = PROC) -> list[Process]:
    """Everything below `pid`, not itself."""
    everyone = processes(proc)
    family, grown = {pid}, True
    while grown:
        more = {item.pid for item in everyone if item.ppid in family} - family
        family |= more
        grown = bool(more)
    return [item for item in everyone if item.pid in family and item.pid != pid]


def zombies_of(pid: int, proc: str = PROC) -> list[int]:
    """Dead children of `pid` that wait to be collected."""
    found = [_look_raw(int(name), proc) for name in os.listdir(proc) if name.isdigit()]
    return [item.pid for item in found if item is not None and item.ppid == pid and item.state == "Z"]


def ancestors(pid: int, proc: str = PROC) -> list[list[object]]:
    """[[pid, name], …] from the parent up to process 1."""
    chain = []  # type: list[list[object]]
    found = look(pid, proc)
    while found is not None and found.ppid > 0 and len(chain) < 64:
        found = look(found.ppid, proc)
        if found is not None:
            chain.append([found.pid, found.name])
    return chain


def tagged(run_id: str, proc: str = PROC) -> list[Process]:
    """Processes whose environment names the run; ours to read only for our own user."""
    wanted = ("%s=%s" % (TAG, run_id)).encode("ascii")
    return [item for item in processes(proc) if wanted in _environment(item.pid, proc).split(b"\0")]


def _environment(pid: int, proc: str) -> bytes:
    try:
        with open("%s/%d/environ" % (proc, pid), "rb") as stream:
            return stream.read(1 << 20)
    except OSError:
        return b""


def holders(path: str, proc: str = PROC) -> list[Process]:
    """Processes of ours that have this file open."""
    try:
        wanted = os.stat(path)
    except OSError:
        return []
    key = (wanted.st_dev, wanted.st_ino)
    return [item for item in processes(proc) if _has_open(item.pid, key, proc)]


def _has_open(pid: int, key: tuple[int, int], proc: str) -> bool:
    folder = "%s/%d/fd" % (proc, pid)
    for name in _names(folder):
        try:
            found = os.stat(folder + "/" + name)
        except OSError:
            continue
        if (found.st_dev, found.st_ino) == key:
            return True
    return False


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def listening(port: int, proc: str = PROC) -> set[str]:
    """Socket numbers of every listener on a TCP port of this machine, whichever address it took."""
    found = set()
    for table in ("tcp", "tcp6"):
        try:
            with open("%s/net/%s" % (proc, table), encoding="ascii", errors="replace") as stream:
                rows = [line.split() for line in stream.readlines()[1:]]
        except OSError:
            continue
        found |= {row[9] for row in rows if len(row) > 9 and row[3] == _LISTEN and row[1].endswith(":%04X" % port)}
    return found


def sockets_of(pids: list[int], proc: str = PROC) -> set[str]:
    """Socket numbers the processes have open."""
    found = set()
    for pid in pids:
        folder = "%s/%d/fd" % (proc, pid)
        for name in _names(folder):
            try:
                target = os.readlink(folder + "/" + name)
            except OSError:
                continue
            if target.startswith("socket:["):
                found.add(target[8:-1])
    return found


def become_subreaper() -> bool:
    """Orphans below this process come back to it instead of to process 1, so none can slip away."""
    try:
        return bool(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False
