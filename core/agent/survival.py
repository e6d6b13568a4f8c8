"""Whether a box lets a process go on after the session that started it has ended: tried, since no setting tells it for sure."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from core.agent import leftovers
from core.agent.detached import detach, myself, silence
from core.agent.files import read_object, write_json

_LIVES_S = 60.0


def begin(root: str) -> dict[str, Any]:
    """Starts a process as detached as a run's agent that only waits. {"answer": "begun"}."""
    reader = detach(lambda writer: _wait(root, writer))
    os.read(reader, 1)  # until it has written itself down, or died
    os.close(reader)
    return {"answer": "begun"}


def _wait(root: str, writer: int) -> None:
    silence(os.open(os.devnull, os.O_WRONLY))
    write_json(_path(root), myself())
    os.close(writer)
    time.sleep(_LIVES_S)


def end(root: str) -> dict[str, Any]:
    """Looks for that process from another session and ends it: {"answer": "told", "survived": true | false | null (none was begun)}."""
    noted = read_object(_path(root))
    if not noted:
        return {"answer": "told", "survived": None}
    os.unlink(_path(root))
    lives = leftovers.is_alive(noted)
    if lives:
        os.kill(int(noted["pid"]), signal.SIGKILL)
    return {"answer": "told", "survived": lives}


def _path(root: str) -> str:
    return os.path.join(root, "survival.json")
