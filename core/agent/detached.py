"""A process that goes on when whoever started it has gone: two forks, a session of its own, no open stream of the caller."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, Callable, Sequence

from core.agent import proc


def detach(work: Callable[[int], None], closing: Sequence[int] = ()) -> int:
    """Does `work` there, with the end of a pipe to write to; here the other end is returned, to read what it says.

    `closing`: descriptors that are not for it. The process ends with the work, whatever that was.
    """
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    first = os.fork()
    if first == 0:
        try:
            os.setsid()
            if os.fork() == 0:
                for fd in (reader, *closing):
                    os.close(fd)
                signal.signal(signal.SIGHUP, signal.SIG_IGN)
                work(writer)
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(first, 0)
    return reader


def silence(out: int) -> None:
    """All three streams away from whoever started us, output to `out`: an open one would hold the caller's channel."""
    null = os.open(os.devnull, os.O_RDONLY)
    for number, fd in ((0, null), (1, out), (2, out)):
        os.dup2(fd, number)
    os.close(out)
    os.close(null)


def myself() -> dict[str, Any]:
    """How this process is found again and told from a later one with its number."""
    me = proc.look(os.getpid())
    return {"pid": os.getpid(), "start_time": me.start if me else 0, "boot_id": proc.boot_id()}
