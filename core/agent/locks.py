"""Two locks of a box: `box.lock` says which run has the machine, `door.lock` lets one verb at a time look and take.

The engine inherits the descriptor of box.lock: the lock then lasts exactly as long as the machine is in use, even when the agent is dead.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from typing import Iterator

from core.agent.files import RUN_ID, Refused, open_private

_DOOR_WAIT_S = 20.0


def box_path(root: str) -> str:
    return os.path.join(root, "box.lock")


def take_box(root: str, run_id: str) -> int | None:
    """The descriptor that holds the box for the run, None when another run has it. Call inside `door`."""
    fd = open_private(box_path(root), os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(fd)
        if isinstance(error, BlockingIOError):
            return None
        raise Refused("This folder cannot be locked (%s): choose one on a local disk." % error.strerror) from error
    os.ftruncate(fd, 0)
    os.pwrite(fd, run_id.encode("ascii"), 0)
    return fd


def box_is_free(root: str) -> bool:
    """Whether nobody holds the box right now. Call inside `door`: it takes the lock for a moment."""
    fd = open_private(box_path(root), os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True


def box_holder(root: str) -> str:
    """Run id last written into the lock, "" when none. It says who, not whether the lock is held."""
    try:
        fd = open_private(box_path(root), os.O_RDONLY)
    except OSError:
        return ""
    try:
        text = os.pread(fd, 64, 0).decode("ascii", "replace")
    finally:
        os.close(fd)
    return text if RUN_ID.match(text) else ""


@contextmanager
def door(root: str) -> Iterator[int]:
    """Holds the door; raises Refused when another verb keeps it for too long. Yields the descriptor, for a child to close."""
    fd = open_private(os.path.join(root, "door.lock"), os.O_RDWR | os.O_CREAT)
    try:
        _wait_for(fd)
        yield fd
    finally:
        os.close(fd)


def _wait_for(fd: int) -> None:
    deadline = time.monotonic() + _DOOR_WAIT_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise Refused("Another request to this box has not come to an end; try again.") from None
            time.sleep(0.02)
        except OSError as error:
            raise Refused("This folder cannot be locked (%s): choose one on a local disk." % error.strerror) from error
