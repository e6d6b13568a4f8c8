"""The one door of a locked box: the forced command of the app's key. It speaks one framed request and answers it; nothing else passes.

The owner of the box installs this agent and writes allow.json; whoever holds the app's key can start what is allowed there, look at
the runs and stop them. There is no shell, no file transfer, no path and no command in a request.
"""

from __future__ import annotations

import base64
import json
import os
import re
import stat
from typing import Any

from core.agent import lifecycle
from core.agent.files import RUN_ID, Refused, disk_free_mib, open_private, run_folder, write_whole

MAX_REQUEST = 17 << 20  # a spec and its frame
PATIENCE_S = 120  # for the request to come whole
MAX_READ = 512 << 10  # the app takes at most 1 MiB of output, and base64 adds a third
MAX_WAITING = 50  # specs that were put and never started
LEAST_DISK_MIB = 64
LEAST_AGE_S = 30 * 86400.0
_STEERING = ("LLAMA_", "GGML_", "HF_", "VLLM_", "PYTHON", "DRAFTLEDGER_")
_ACK = re.compile(r"[0-9]{1,18}:[0-9a-f]{64}\Z")
_FILE = re.compile(r"(?:events\.jsonl|server-[1-9][0-9]{0,3}\.log|telemetry\.csv|heartbeat\.json|agent\.log)\Z")


def forget_what_was_sent(environ: Any) -> None:
    """Takes out variables by which a client could steer an engine, where sshd takes them; the owner's own stand in allow.json."""
    for name in [name for name in environ if name.startswith(_STEERING)]:
        del environ[name]


def answer(root: str, agent_sha: str | None, line: bytes) -> dict[str, Any]:
    """The answer to one request line. Raises Refused with a sentence for whatever is not one."""
    request = _request(line)
    verb = request.get("verb")
    if verb == "probe":
        from core.agent.probe import probe

        return dict(probe(root, agent_sha), mode="locked")
    if verb == "reap":
        return lifecycle.reap(root)
    run_id = request.get("run_id")
    if not isinstance(run_id, str) or not RUN_ID.match(run_id):
        raise Refused("A run id is 32 hexadecimal digits.")
    if verb == "put_spec":
        return _put_spec(root, run_id, request.get("spec"))
    if verb == "start":
        return lifecycle.start(root, run_id, agent_sha)
    if verb == "state":
        return lifecycle.state(root, run_id)
    if verb == "cancel":
        return lifecycle.cancel(root, run_id, _who(request.get("who")))
    if verb == "forget":
        return _forget(root, run_id, request)
    if verb in ("read", "size"):
        return _file(root, run_id, request, only_size=verb == "size")
    raise Refused("This key asks the agent for runs and nothing else.")


def _request(line: bytes) -> dict[str, Any]:
    if len(line) > MAX_REQUEST:
        raise Refused("The request is too long.")
    try:
        found = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        raise Refused("This key asks the agent for runs and nothing else.") from None
    if not isinstance(found, dict):
        raise Refused("The request has to be an object.")
    return found


def _who(name: Any) -> str:
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= 200:
        raise Refused("Who asks has to be a name of at most 200 characters.")
    return name


def _put_spec(root: str, run_id: str, spec: Any) -> dict[str, Any]:
    """Keeps the spec until the run has left its first trace; from then on it stays as it was."""
    if not isinstance(spec, dict):
        raise Refused("The spec has to be an object.")
    free = disk_free_mib(root)
    if free is not None and free < LEAST_DISK_MIB:
        raise Refused("The disk of the box is full.")
    path = os.path.join(root, "runs", run_id)
    if not os.path.lexists(path):
        if len(_waiting(root)) >= MAX_WAITING:
            raise Refused("%d runs were handed over here and never started; the owner of the box clears them." % MAX_WAITING)
        os.mkdir(path, 0o700)
    folder = run_folder(root, run_id)
    if _has_begun(folder):
        return {"answer": "already"}
    write_whole(os.path.join(folder, "spec.json"), json.dumps(spec, ensure_ascii=False).encode("utf-8"))
    return {"answer": "kept"}


def _forget(root: str, run_id: str, request: dict[str, Any]) -> dict[str, Any]:
    """Only what the app holds whole, and never what is younger than 30 days: a stolen key cannot wipe fresh runs."""
    ack, age_s = request.get("ack"), request.get("age_s")
    if not isinstance(ack, str) or not _ACK.match(ack) or not _is_count(age_s):
        raise Refused("To forget a run takes its last event's number and hash, and an age in seconds.")
    from core.agent.forget import forget

    return forget(root, run_id, ack, max(float(age_s or 0), LEAST_AGE_S))


def _has_begun(folder: str) -> bool:
    return any(os.path.lexists(os.path.join(folder, name)) for name in ("agent.json", "events.jsonl"))


def _waiting(root: str) -> list[str]:
    runs = os.path.join(root, "runs")
    return [name for name in os.listdir(runs) if not _has_begun(os.path.join(runs, name))]


def _file(root: str, run_id: str, request: dict[str, Any], only_size: bool) -> dict[str, Any]:
    """Bytes (base64) or size of one of the run's files; null where it does not exist yet."""
    name, offset, limit = request.get("name"), request.get("offset", 0), request.get("limit", MAX_READ)
    if not isinstance(name, str) or not _FILE.match(name):
        raise Refused("A run has no such file.")
    if not _is_count(offset) or not _is_count(limit):
        raise Refused("Offset and limit have to be whole numbers from 0.")
    try:
        fd = open_private(os.path.join(run_folder(root, run_id), name), os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return {"size": None, "data": None}
    with os.fdopen(fd, "rb") as stream:
        found = os.fstat(stream.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise Refused("The run's file is not a plain file.")
        if only_size:
            return {"size": found.st_size, "data": None}
        stream.seek(offset)
        return {"size": found.st_size, "data": base64.b64encode(stream.read(min(limit, MAX_READ))).decode("ascii")}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 60
