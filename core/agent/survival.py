"""Whether a box lets a process go on after the session that started it has ended: tried, since no setting tells it for sure."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from core.agent import proc
from core.agent.files import read_object, write_json

_LIVES_S = 60.0


def begin(root: str) -> dict[str, Any]:
    """Starts a process as detached as a run's agent that only waits. {"answer": "begun"}."""
    reader, writer = os.pipe()
    first = os.fork()
    if first == 0:
        try:
            os.setsid()
            if os.fork() == 0:
                os.close(reader)
                _wait(root, writer)
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(first, 0)
    os.read(reader, 1)  # until it has written itself down, or died
    os.close(reader)
    return {"answer": "begun"}


def _wait(root: str, writer: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    me = proc.look(os.getpid())
    write_json(_path(root), {"pid": os.getpid(), "start_time": me.start if me else 0, "boot_id": proc.boot_id()})
    os.close(writer)
    time.sleep(_LIVES_S)


def end(root: str) -> dict[str, Any]:
    """Looks for that process from another session and ends it: {"answer": "told", "survived": true | false | null (none was begun)}."""
    noted = read_object(_path(root))
    if not noted:
        return {"answer": "told", "survived": None}
    os.unlink(_path(root))
    lives = proc.is_same(int(noted["pid"]), int(noted["start_time"]), str(noted["boot_id"]))
    if lives:
        os.kill(int(noted["pid"]), signal.SIGKILL)
    return {"answer": "told", "survived": lives}


def _path(root: str) -> str:
    return os.path.join(root, "survival.json")
