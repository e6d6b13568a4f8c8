"""The verbs around a run: start it detached, say how it is, ask it to stop, clear up after an agent that died."""

from __future__ import annotations

import os
import select
import signal
import sys
import traceback
from typing import TYPE_CHECKING, Any

from core.agent import leftovers, locks, proc
from core.agent.detached import detach, silence
from core.agent.files import Refused, open_private, read_object, run_folder, write_json
from core.agent.journal import is_finished
from core.domain.arms import cancelled

if TYPE_CHECKING:
    from core.agent.spec import Spec

_START_WAIT_S = 15.0
_STARTED = b"started"


def start(root: str, run_id: str, agent_sha: str | None) -> dict[str, Any]:
    """Safe to repeat: a run starts once, whatever got lost on the way."""
    try:
        folder = run_folder(root, run_id)
        if proc.look(os.getpid()) is None:
            raise Refused("The agent needs Linux: it tells processes apart by /proc.")
        with locks.door(root) as door_fd:
            return _start(root, folder, run_id, agent_sha, door_fd)
    except FileNotFoundError:
        return {"answer": "refused", "why": "The box has no folder for this run."}
    except (Refused, OSError) as error:
        return {"answer": "refused", "why": str(error)}


def _start(root: str, folder: str, run_id: str, agent_sha: str | None, door_fd: int) -> dict[str, Any]:
    if leftovers.read_agent(folder) or is_finished(folder):
        return {"answer": "already", "finished": is_finished(folder)}
    from core.agent.bounds import refuse_beyond
    from core.agent.spec import read_spec  # asking for a state is the common case and should not compile the whole agent

    spec = read_spec(folder, run_id)
    refuse_beyond(root, spec)
    lock_fd = locks.take_box(root, run_id)
    if lock_fd is None:
        return {"answer": "busy", "by": locks.box_holder(root)}
    try:
        pid = _detach(root, folder, spec, agent_sha, (lock_fd, door_fd))
    finally:
        os.close(lock_fd)
    return {"answer": "started", "pid": pid}


def _detach(root: str, folder: str, spec: Spec, agent_sha: str | None, fds: tuple[int, int]) -> int:
    """The run's agent as a process of its own; waits until it has written its first event. `fds`: the box's lock, kept; the door, not."""
    reader = detach(lambda writer: _under_guard(root, folder, spec, agent_sha, fds[0], writer), closing=fds[1:])
    with os.fdopen(reader, "rb") as stream:
        word, _, rest = _read_answer(stream.fileno()).partition(b" ")
    if word == _STARTED:
        return int(rest)
    raise Refused(rest.decode("utf-8", "replace") or "The agent ended before it began; its agent.log says why.")


def _read_answer(fd: int) -> bytes:
    data = b""
    while select.select([fd], [], [], _START_WAIT_S)[0]:
        piece = os.read(fd, 4096)
        if not piece:
            return data
        data += piece
    return b"refused The agent did not begin within %d s." % _START_WAIT_S


def _under_guard(root: str, folder: str, spec: Spec, agent_sha: str | None, lock_fd: int, writer: int) -> None:
    """The detached process: makes the agent and becomes its guard. Leaves through os._exit: nothing of the verb's clean-up may run here."""
    code = 1
    try:
        silence(open_private(os.path.join(folder, "agent.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND))
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        proc.become_subreaper()
        from core.agent import guard

        alive, held = os.pipe()  # closed on the agent's side by its death alone: nothing it starts inherits it
        if os.fork() == 0:
            os.close(alive)
            _agent_main(root, folder, spec, agent_sha, lock_fd, writer)
        for fd in (held, writer, lock_fd):
            os.close(fd)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the agent ends in order when the box shuts down, and its guard with it
        guard.keep(root, folder, spec, alive)
        code = 0
    except BaseException:  # noqa: BLE001 - as below
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _agent_main(root: str, folder: str, spec: Spec, agent_sha: str | None, lock_fd: int, writer: int) -> None:
    """The agent itself. Leaves through os._exit too."""
    code = 1
    try:
        proc.become_subreaper()
        from core.agent.run import Run

        run = Run(root, folder, spec, lock_fd, agent_sha)
        try:
            run.open()
        except OSError as error:
            os.write(writer, b"refused The run's folder cannot be written: %s" % str(error).encode("utf-8"))
            return
        signal.signal(signal.SIGTERM, run.on_signal)
        os.write(writer, _STARTED + b" %d" % os.getpid())
        os.close(writer)
        run.to_the_end()
        code = 0
    except BaseException:  # noqa: BLE001 - last words go to agent.log; there is nobody above to tell
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def state(root: str, run_id: str) -> dict[str, Any]:
    try:
        folder = run_folder(root, run_id)
    except (Refused, FileNotFoundError):
        return {"known": False, "alive": False, "finished": False, "pid": None, "heartbeat": None, "rebooted": False}
    agent = leftovers.read_agent(folder)
    alive = leftovers.is_alive(agent)
    beat = read_object(os.path.join(folder, "heartbeat.json")) or None
    rebooted = bool(agent) and agent.get("boot_id") != proc.boot_id()
    return {
        "known": True,
        "alive": alive,
        "finished": is_finished(folder),
        "pid": agent.get("pid"),
        "heartbeat": beat,
        "rebooted": rebooted,
    }


def cancel(root: str, run_id: str, who: str) -> dict[str, Any]:
    """Asks a living agent; does its last duties itself when it is dead or never began."""
    try:
        folder = run_folder(root, run_id)
    except FileNotFoundError:
        return {"answer": "unknown-run", "left": []}
    if is_finished(folder):
        return {"answer": "finished", "left": []}
    _leave_marker(folder, who)
    with locks.door(root):
        agent = leftovers.read_agent(folder)
        if is_finished(folder):
            return {"answer": "finished", "left": []}
        if leftovers.is_alive(agent):
            return {"answer": "asked", "left": []}
        return {"answer": "reaped", "left": _last_duties(root, folder, run_id, agent)}


def _last_duties(root: str, folder: str, run_id: str, agent: dict[str, Any]) -> list[int]:
    """What a dead agent cannot do any more: end all of the run, prove it, close the ledger. Returns what still lives."""
    from core.agent.ending import Proof, close_for, open_ports
    from core.agent.telemetry import held_since_start

    _, left = leftovers.end(root, run_id, agent)
    close_for(folder, cancelled(leftovers.who_asked(folder)), Proof(left, open_ports(agent), held_since_start(folder)))
    return left


def _leave_marker(folder: str, who: str) -> None:
    """The first one who asks is named; asking again changes nothing."""
    path = os.path.join(folder, "cancel")
    if os.path.lexists(path):
        return
    try:
        write_json(path, {"who": who})
    except OSError:  # a full disk still takes an empty file: the run stops, only who asked is not told
        os.close(open_private(path, os.O_WRONLY | os.O_CREAT))


def reap(root: str) -> dict[str, Any]:
    """Ends what dead agents left; the ledgers of their runs stay as they are."""
    reaped = []
    with locks.door(root):
        for run_id in leftovers.runs(root):
            agent = leftovers.read_agent(os.path.join(root, "runs", run_id))
            if not agent or leftovers.is_alive(agent):
                continue
            ended, left = leftovers.end(root, run_id, agent)
            if ended or left:
                reaped.append({"run_id": run_id, "ended": ended, "left": left})
    return {"reaped": reaped}
