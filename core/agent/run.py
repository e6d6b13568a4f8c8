"""A whole sweep on the box: preflight, one engine a stage, verdict after each, and always a last event that says how it ended."""

from __future__ import annotations

import os
import platform
import socket
import traceback
from dataclasses import asdict
from statistics import median
from typing import Any

from core.agent import proc
from core.agent.client import ENDED_EARLY
from core.agent.engine import FOREIGN, Engine, ForeignPort, LoadFailed
from core.agent.files import write_json
from core.agent.heartbeat import Heartbeat
from core.agent.journal import DiskFull, Journal
from core.agent.measure import OK, Meter
from core.agent.preflight import Ready, RunFailed
from core.agent.shutdown import end_family
from core.agent.spec import Spec
from core.agent.watch import OutOfTime, Stopped, Watch
from core.domain import sweep
from core.domain.sweep import Measured, Stage

_PORT_TRIES = 3


class StageFailed(Exception):
    """The stage cannot be counted; the sweep's rules say what comes next."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class Run:
    """`open` writes the first event, `to_the_end` does the rest and never raises."""

    def __init__(self, root: str, folder: str, spec: Spec, lock_fd: int, agent_sha: str | None) -> None:
        self._root, self._folder, self._spec, self._lock_fd, self._agent_sha = root, folder, spec, lock_fd, agent_sha
        self._done = []  # type: list[Measured]
        self._codes = {}  # type: dict[int, str]
        self._servers = 0
        me = proc.look(os.getpid())
        self._agent = {"pid": os.getpid(), "start_time": me.start if me else 0, "boot_id": proc.boot_id(), "engines": []}  # type: dict[str, Any]

    def open(self) -> None:
        """Raises OSError when the folder cannot be written."""
        self._write_agent()
        self._journal = Journal(self._folder)
        self._journal.hold_reserve()
        self._beat = Heartbeat(self._folder)
        self._watch = Watch(self._folder, self._spec.limits.lifetime_s, self._seen)
        self._journal.append(
            "run_started", run_id=self._spec.run_id, spec_sha256=self._spec.sha256, agent_sha256=self._agent_sha,
            python=platform.python_version(), platform=platform.platform(), hostname=socket.gethostname(), pid=os.getpid(),
            ancestors=proc.ancestors(os.getpid()), decision_head=self._spec.decision_head, requested_by=self._spec.requested_by,
        )  # fmt: skip
        self._beat.start()

    def on_signal(self, number: int, _frame: Any) -> None:
        """SIGTERM from the box (shutdown, an administrator) stops the run in order."""
        self._watch.signalled = "the box (signal %d)" % number

    def _seen(self, who: str) -> None:
        self._beat.set(phase="stopping")
        self._journal.append("cancel_seen", who=who)

    def _write_agent(self) -> None:
        write_json(os.path.join(self._folder, "agent.json"), self._agent)

    def to_the_end(self) -> None:
        outcome, code, text = "failed", "error", ""
        try:
            outcome, code, text = self._guarded()
        except DiskFull:
            code, text = "disk", "The disk of the box is full."
        except Exception as error:  # noqa: BLE001 - the ledger has to say how the run ended, whatever the mistake was
            traceback.print_exc()
            text = "The agent met an error of its own: %s: %s" % (type(error).__name__, error)
        try:
            self._finish(outcome, code, text)
        except (OSError, DiskFull):
            traceback.print_exc()

    def _guarded(self) -> tuple[str, str, str]:
        """(outcome, reason code, reason text) of the sweep."""
        try:
            return self._sweep()
        except Stopped as stopped:
            return "cancelled", "cancelled", "Stopped by %s." % stopped
        except OutOfTime:
            return "failed", "lifetime", "The run's lifetime of %g s is over." % self._spec.limits.lifetime_s
        except (RunFailed, StageFailed) as failed:
            return "failed", failed.code, str(failed)

    def _sweep(self) -> tuple[str, str, str]:
        self._beat.set(phase="preflight")
        self._watch()
        ready = Ready(self._root, self._spec, self._watch)
        facts = ready.facts()
        self._journal.append("preflight", **facts)
        if isinstance(facts["others_on_gpu"], list) and facts["others_on_gpu"] and not self._spec.allow_shared_gpu:
            raise RunFailed("gpu_busy", "Somebody else computes on the GPU: %s." % facts["others_on_gpu"][:5])
        while True:
            self._watch()
            stage = sweep.next_stage(self._spec.plan, self._done)
            if stage is None:
                break
            self._done.append(self._stage(ready, stage))
            self._verdict(stage)
        stop = sweep.stop_of(self._spec.plan, self._done)
        if stop is not None and stop.code == "baseline_failed":
            raise RunFailed(self._codes[0], stop.text)
        return "done", stop.code if stop else "complete", stop.text if stop else "Every stage was measured."

    def _verdict(self, stage: Stage) -> None:
        stop = sweep.stop_of(self._spec.plan, self._done)
        winner = sweep.winner(self._done)
        self._journal.append(
            "verdict", after=stage.name, winner=winner, best_ratio=self._ratio(winner), stop=None if stop is None else asdict(stop)
        )

    def _ratio(self, winner: int | None) -> float | None:
        """Median of the winner over the median of the baseline."""
        off, best = self._rates(sweep.OFF), self._rates(winner)
        return median(best) / median(off) if off and best else None

    def _rates(self, n_max: int | None) -> list[float]:
        """Warm rates of the single-stream search."""
        return [rate for item in self._done if item.stage.n_max == n_max and item.stage.kind != sweep.PRODUCTION for rate in item.tok_per_s]

    def _stage(self, ready: Ready, stage: Stage) -> Measured:
        samples = []  # type: list[dict[str, Any]]
        code, reason = "", ""
        try:
            engine = self._launch(ready, stage)
            try:
                self._repeat(stage, engine, samples)
            finally:
                self._end(engine)
        except StageFailed as failed:
            code, reason = failed.code, str(failed)
        counted = [item for item in samples if item["counted"]]
        rates = [item["tok_s"] for item in counted]
        status = "failed" if code else "ok"
        self._codes[len(self._done)] = code
        self._journal.append(
            "stage_done", stage=shown(stage), status=status, code=code, reason=reason, tok_s=rates,
            drafted=_sum(counted, "drafted"), accepted=_sum(counted, "accepted"), proposed_denominator="of proposed",
        )  # fmt: skip
        return Measured(stage, tuple(rates), status, reason)

    def _launch(self, ready: Ready, stage: Stage) -> Engine:
        """A healthy engine for the stage; another port when a stranger took the chosen one. Raises StageFailed, RunFailed."""
        for attempt in range(_PORT_TRIES):
            self._servers += 1
            argv = list(ready.engine["argv"]) + ready.args_for(stage.n_max, stage.c)
            engine = Engine(self._servers, argv, self._spec.added, ready.help_text)
            if attempt == 0:
                self._journal.append("stage_started", stage=shown(stage), server=engine.number)
            self._beat.set(phase="loading", stage=stage.name, repetition=None, repetitions=stage.repetitions, tok_per_s=None)
            self._journal.append("server_starting", server=engine.number, n_max=stage.n_max, c=stage.c, argv=engine.shown_argv())
            healthy = False
            try:
                self._start(engine, ready)
                healthy = True
                return engine
            except LoadFailed as failed:
                raise StageFailed(failed.code, str(failed)) from None
            except ForeignPort:
                continue
            finally:
                if not healthy:
                    self._end(engine)
        raise RunFailed("port", "%d times another program took the port that was free a moment before." % _PORT_TRIES)

    def _start(self, engine: Engine, ready: Ready) -> None:
        environment = dict(ready.environment, **{proc.TAG: self._spec.run_id})
        engine.start(self._folder, environment, self._lock_fd)
        found = proc.look(engine.pid)
        self._agent["engines"].append({"pgid": engine.pid, "start_time": found.start if found else 0})
        self._write_agent()
        load_s = engine.wait_ready(self._spec.limits.load_s, self._watch)
        log_bytes = engine.log.total if engine.log else 0
        self._journal.append("server_ready", server=engine.number, load_s=load_s, log_bytes=log_bytes, props=engine.props())

    def _end(self, engine: Engine) -> None:
        engine.stop(self._spec.limits.grace_s)  # what could not be ended is looked for again, and named, at the end of the run
        self._journal.append("server_exit", **engine.exit_facts())

    def _repeat(self, stage: Stage, engine: Engine, samples: list[dict[str, Any]]) -> None:
        """Warm-up, then every asked repetition, each tried once more when it cannot be counted."""
        meter = Meter(self._spec, stage, engine, self._watch)
        self._one(meter, stage, engine, 0, 1)
        for repetition in range(1, stage.repetitions + 1):
            sample = self._one(meter, stage, engine, repetition, 1)
            if sample["status"] != OK:
                sample = self._one(meter, stage, engine, repetition, 2)
            if sample["status"] != OK:
                raise StageFailed("answers_invalid", "Repetition %d could not be counted twice: %s" % (repetition, sample["reason"]))
            samples.append(sample)

    def _one(self, meter: Meter, stage: Stage, engine: Engine, repetition: int, attempt: int) -> dict[str, Any]:
        self._beat.set(phase="measuring" if repetition else "warming up", repetition=repetition)
        if engine.listener() == FOREIGN:
            raise StageFailed("port", "Another program listens on the engine's port.")
        sample = meter.sample(repetition, attempt)
        self._journal.append("sample", stage=shown(stage), **sample)
        self._beat.set(tok_per_s=sample["tok_s"])
        if was_cut(sample) and engine.died(1.0):
            raise StageFailed("engine_died", "The engine ended during repetition %d (%s)." % (repetition, engine.how_it_ended()))
        return sample

    def _finish(self, outcome: str, code: str, text: str) -> None:
        """Nothing of ours may live and the box is free before the last event says that the run is over."""
        left = end_family()
        os.close(self._lock_fd)
        stop = sweep.stop_of(self._spec.plan, self._done)
        if outcome == "done" and left:
            text += " Processes of the engine could not be ended."
        self._journal.append(
            "run_finished", outcome=outcome, reason={"code": code, "text": text}, winner=sweep.winner(self._done),
            drifted=sweep.drifted(self._done), stop=None if stop is None else asdict(stop), samples=self._journal.samples,
            left=sorted(left), events=self._journal.seq + 1,
        )  # fmt: skip
        self._journal.close()
        self._beat.stop("finished")


def was_cut(sample: dict[str, Any]) -> bool:
    """Whether a connection broke: then the engine may be gone, a moment before the kernel says so."""
    return any(answer["error"] not in (None, ENDED_EARLY) and answer["http_status"] in (None, 200) for answer in sample["streams"])


def shown(stage: Stage) -> dict[str, Any]:
    """A stage as the ledger has it."""
    return dict(asdict(stage), name=stage.name)


def _sum(samples: list[dict[str, Any]], key: str) -> int | None:
    values = [item[key] for item in samples if item[key] is not None]
    return sum(values) if values else None
