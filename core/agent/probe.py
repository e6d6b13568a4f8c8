"""What a box is and offers, for its page and before a run is asked for. Starts no engine, opens no port."""

from __future__ import annotations

import getpass
import os
import platform
import socket
import time
from typing import Any

from core.agent import boxfacts, leftovers, locks, outside, proc
from core.agent.bounds import limits_of
from core.agent.files import Refused, disk_free_mib
from core.agent.gguf_head import NotGguf, read_header


def probe(root: str, agent_sha: str | None) -> dict[str, Any]:
    allowed = boxfacts.read_allowed(root)
    error = allowed.error
    try:
        limits = limits_of(root)
    except Refused as refused:
        limits, error = {}, error or str(refused)
    with locks.door(root):
        busy = leftovers.busy(root)
    return {
        "agent": agent_sha, "python": platform.python_version(), "platform": platform.platform(), "hostname": socket.gethostname(),
        "user": _user(), "boot_id": proc.boot_id(), "wall": time.time(), "cpu_count": os.cpu_count(),
        "memory_mib": boxfacts.memory_mib("MemTotal"), "disk_free_mib": disk_free_mib(root), "allow_error": error,
        "engines": [_engine(item) for item in allowed.engines], "models": [_model(item) for item in allowed.models],
        "gpus": outside.gpus(), "busy": busy, "limits": limits,
    }  # fmt: skip


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return str(os.geteuid())


def _engine(engine: dict[str, Any]) -> dict[str, Any]:
    return dict(outside.engine_texts(engine["argv"], boxfacts.environment_of(engine)), id=engine["id"])


def _model(model: dict[str, str]) -> dict[str, Any]:
    facts = {"name": model["name"], "path": model["path"], "size_bytes": None, "mtime": None, "header": None, "error": ""}  # type: dict[str, Any]
    try:
        found = os.stat(model["path"])
        facts.update(size_bytes=found.st_size, mtime=found.st_mtime)
        facts["header"] = read_header(model["path"])
    except NotGguf as error:
        facts["error"] = "Not a GGUF file: %s." % error
    except OSError as error:
        facts["error"] = "Cannot be read: %s." % (error.strerror or error)
    return facts
