"""Private files of the run root: 0600, never through a symbolic link, whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import threading
from typing import Any

RUN_ID = re.compile(r"[0-9a-f]{32}\Z")
_NO_FOLLOW = os.O_NOFOLLOW | os.O_CLOEXEC


class Refused(Exception):
    """The agent will not do what was asked; the text is a sentence for people."""


def open_private(path: str, flags: int) -> int:
    """A descriptor on a file of ours: created 0600, not inherited, symbolic links refused."""
    return os.open(path, flags | _NO_FOLLOW, 0o600)


def write_whole(path: str, data: bytes) -> None:
    """Writes aside and renames, so that a reader sees the old bytes or the new ones."""
    side = "%s.%d-%d.side" % (path, os.getpid(), threading.get_ident())
    fd = open_private(side, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        try:
            if os.write(fd, data) != len(data):
                raise OSError(errno.ENOSPC, "the file was cut by a full disk")
        finally:
            os.close(fd)
        os.rename(side, path)
    except OSError:
        os.unlink(side)
        raise


def write_json(path: str, value: Any) -> None:
    write_whole(path, (json.dumps(value, sort_keys=True) + "\n").encode("utf-8"))


def read_limited(path: str, limit: int) -> bytes:
    """The file's bytes; raises OSError, and ValueError for a file longer than `limit` or not a plain one."""
    fd = open_private(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(fd, "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise ValueError("%s is not a plain file" % os.path.basename(path))
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise ValueError("%s is longer than %d bytes" % (os.path.basename(path), limit))
    return data


def read_json(path: str, limit: int = 4 << 20) -> Any:
    """Raises OSError or ValueError (also for JSON nested too deep)."""
    try:
        return json.loads(read_limited(path, limit).decode("utf-8"))
    except RecursionError:
        raise ValueError("%s is nested too deep" % os.path.basename(path)) from None


def read_object(path: str) -> dict[str, Any]:
    """The JSON object in a file, {} when there is none that can be read."""
    try:
        found = read_json(path)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def run_folder(root: str, run_id: str) -> str:
    """Path of an existing run folder. Raises Refused for a malformed id, a link, another user's folder; FileNotFoundError."""
    if not RUN_ID.match(run_id):
        raise Refused("A run id is 32 hexadecimal digits.")
    path = os.path.join(root, "runs", run_id)
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode):
        raise Refused("The run's folder is not a folder.")
    if found.st_uid != os.geteuid():
        raise Refused("The run's folder belongs to another user.")
    return path


def disk_free_mib(path: str) -> int | None:
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize >> 20
