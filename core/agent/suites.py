"""One run of a tool suite against the started engine: an argument list of its own, watched, capped, ended with everything it started."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any

from core.agent import proc
from core.agent.engine import STEP, Engine
from core.agent.files import read_limited
from core.agent.leftovers import kill_process
from core.agent.logpump import LogPump
from core.agent.shutdown import signal_group
from core.agent.spec import Spec
from core.agent.watch import Watch
from core.domain.suite_score import NoScore, score_of

OK, FAILED, TIMEOUT, MISSING, UNREADABLE = "ok", "failed", "timeout", "missing", "unreadable"
SEEN = 256 << 10  # of each stream a score may be read from the last so many bytes
TOLD = 4096  # of each stream so many bytes go into the ledger
_SCORE_FILE = 4096
_ROUNDS = 50


def missing(suite_id: str, why: str = "It is not registered on this box.") -> dict[str, Any]:
    """Body of a `suite_run` that could not begin."""
    return _body(suite_id, MISSING, why)


def _body(suite_id: str, status: str, reason: str, **more: Any) -> dict[str, Any]:
    body = {
        "suite": suite_id, "status": status, "reason": reason, "score": None, "exit_code": None, "took_s": None,
        "output": "", "errors": "", "output_bytes": 0, "errors_bytes": 0,
    }  # type: dict[str, Any]  # fmt: skip
    body.update(more)
    return body


class SuiteRunner:
    """Runs suites against one engine."""

    def __init__(self, spec: Spec, engine: Engine, watch: Watch) -> None:
        self._spec, self._engine, self._watch = spec, engine, watch

    def run(self, suite: dict[str, Any], number: int) -> dict[str, Any]:
        """Body of a `suite_run` event. Raises Stopped, OutOfTime."""
        if shutil.which(suite["argv"][0]) is None:
            return missing(suite["id"], "%s cannot be executed on this box." % suite["argv"][0])
        before = {item.pid for item in proc.descendants(os.getpid())}
        folder = tempfile.mkdtemp(prefix="draftledger-suite-")
        try:
            return self._run(suite, number, folder)
        except OSError as error:
            return _body(suite["id"], FAILED, "It could not be started: %s" % error)
        finally:
            self._clear(before)
            shutil.rmtree(folder, ignore_errors=True)

    def _environment(self, folder: str, number: int) -> dict[str, str]:
        """The box's own, and where the server is: the names stand in docs/agent.md."""
        return dict(
            os.environ, DRAFTLEDGER_URL="http://127.0.0.1:%d" % self._engine.port, DRAFTLEDGER_API_KEY=self._engine.key,
            DRAFTLEDGER_MODEL=self._engine.alias, DRAFTLEDGER_SCORE_FILE=os.path.join(folder, "score"),
            DRAFTLEDGER_SUITE_RUN=str(number), **{proc.TAG: self._spec.run_id},
        )  # fmt: skip

    def _run(self, suite: dict[str, Any], number: int, folder: str) -> dict[str, Any]:
        begun = time.monotonic()
        process, pumps = self._start(suite["argv"], self._environment(folder, number), folder)
        try:
            status, reason = self._wait(process, begun + suite["limit_s"], suite["limit_s"])
        finally:
            self._end(process, pumps)
        out, err = (pump.tail(SEEN).decode("utf-8", "replace").replace(self._engine.key, "***") for pump in pumps)
        body = _body(
            suite["id"], status, reason, exit_code=None if status == TIMEOUT else process.returncode, took_s=time.monotonic() - begun,
            output=out[-TOLD:], errors=err[-TOLD:], output_bytes=pumps[0].total, errors_bytes=pumps[1].total,
        )  # fmt: skip
        if status == OK:
            self._score(suite, body, out, _filed(folder))
        return body

    def _start(self, argv: list[str], environment: dict[str, str], folder: str) -> tuple[subprocess.Popen[bytes], list[LogPump]]:
        """The kernel ends the suite when the agent dies, as it does with an engine."""
        ends = [os.pipe(), os.pipe()]
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", STEP, str(os.getpid()), ""] + argv, stdin=subprocess.DEVNULL, stdout=ends[0][1],
                stderr=ends[1][1], env=environment, cwd=folder, start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:  # ValueError: an argument that no command line can hold
            for reader, _ in ends:
                os.close(reader)
            raise OSError(str(error)) from error
        finally:
            for _, writer in ends:
                os.close(writer)
        pumps = [LogPump(reader, open(os.devnull, "wb"), head=0, tail=SEEN) for reader, _ in ends]
        for pump in pumps:
            pump.start()
        return process, pumps

    def _wait(self, process: subprocess.Popen[bytes], deadline: float, limit_s: float) -> tuple[str, str]:
        while process.poll() is None:
            if time.monotonic() > deadline:
                return TIMEOUT, "It was not done after %g s and was ended." % limit_s
            self._watch.sleep(0.05)
        if self._engine.died():
            return FAILED, "The engine ended while the suite ran (%s)." % self._engine.how_it_ended()
        return OK, ""

    def _end(self, process: subprocess.Popen[bytes], pumps: list[LogPump]) -> None:
        """Its whole group, so that nothing computes on beside the next run."""
        signal_group(process.pid, 9)
        process.wait()
        for pump in pumps:
            pump.join(1.0)

    def _clear(self, before: set[int]) -> None:
        """What left the group and came back to the agent as an orphan; the engine and its family were there before."""
        for _ in range(_ROUNDS):
            spared = before | {item.pid for item in proc.descendants(self._engine.pid)}
            found = [item for item in proc.descendants(os.getpid()) if item.pid not in spared]
            for item in found:
                kill_process(item)
            if not found:
                return
            time.sleep(0.02)

    def _score(self, suite: dict[str, Any], body: dict[str, Any], output: str, filed: str | None) -> None:
        try:
            body["score"] = score_of(suite["rule"], output, body["exit_code"], filed)
        except NoScore as problem:
            said = (body["errors"].strip() or body["output"].strip()).rpartition("\n")[2][:200]
            body["status"] = UNREADABLE if body["exit_code"] == 0 else FAILED
            body["reason"] = "%s%s" % (problem, " It said: %s" % said if said else "")


def _filed(folder: str) -> str | None:
    try:
        return read_limited(os.path.join(folder, "score"), _SCORE_FILE).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
