"""A whole sweep on the box: preflight, one engine a stage, verdict after each, and always a last event that says how it ended."""

from __future__ import annotations

import os
import platform
import socket
import time
import traceback
from dataclasses import asdict, astuple
from statistics import median
from typing import Any

from core.agent import cgroup, proc
from core.agent.after import After, Hands
from core.agent.detached import myself
from core.agent.ending import last_words, prove
from core.agent.engine import FOREIGN, Engine, ForeignPort, LoadFailed
from core.agent.files import write_json
from core.agent.heartbeat import Heartbeat
from core.agent.journal import FULL, DiskFull, Journal
from core.agent.measure import OK, Meter, was_cut
from core.agent.preflight import Ready, RunFailed, StageFailed
from core.agent.pricing import figures_of
from core.agent.spec import Spec
from core.agent.telemetry import GPU_LEAST_S, Telemetry
from core.agent.watch import OutOfTime, Stopped, Watch
from core.domain import sweep
from core.domain.looks import noise_plan, too_long
from core.domain.sweep import Measured, Stage

_PORT_TRIES = 3


class Run:
    """`open` writes the first event, `to_the_end` does the rest and never raises."""

    def __init__(self, root: str, folder: str, spec: Spec, lock_fd: int, agent_sha: str | None) -> None:
        self._root, self._folder, self._spec, self._lock_fd, self._agent_sha = root, folder, spec, lock_fd, agent_sha
        self._done = []  # type: list[Measured]
        self._codes = {}  # type: dict[int, str]
        self._servers = 0
        self._engine: Engine | None = None
        self._load_s = 0.0
        self._agent = dict(myself(), engines=[], cgroup=cgroup.make(spec.run_id))
        self._gpu_over: float | None = None

    def open(self) -> None:
        """Raises OSError when the folder cannot be written."""
        self._write_agent()
        self._journal = Journal(self._folder)
        self._journal.hold_reserve()
        self._beat, self._is_full = Heartbeat(self._folder), False
        self._watch = Watch(self._folder, self._spec.limits.lifetime_s, self._seen)
        try:
            self._begin()
        except DiskFull:
            self._is_full = True  # the first line stands there: the run has begun, and its end is told like any other
        self._beat.start()

    def _begin(self) -> None:
        self._journal.append(
            "run_started", run_id=self._spec.run_id, spec_sha256=self._spec.sha256, agent_sha256=self._agent_sha,
            python=platform.python_version(), platform=platform.platform(), hostname=socket.gethostname(), pid=os.getpid(),
            ancestors=proc.ancestors(os.getpid()), decision_head=self._spec.decision_head, requested_by=self._spec.requested_by,
        )  # fmt: skip

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
            if isinstance(error, OSError) and error.errno in FULL:
                code, text = "disk", "The disk of the box is full (%s)." % error
        try:
            self._finish(outcome, code, text)
        except (OSError, DiskFull):
            traceback.print_exc()

    def _guarded(self) -> tuple[str, str, str]:
        """(outcome, reason code, reason text) of the sweep."""
        try:
            return self._sweep()
        except Stopped as stopped:
            return ("cancelled", *astuple(sweep.cancelled(str(stopped))))
        except OutOfTime:
            return "failed", "lifetime", "The run's lifetime of %g s is over." % self._spec.limits.lifetime_s
        except (RunFailed, StageFailed) as failed:
            return "failed", failed.code, str(failed)

    def _sweep(self) -> tuple[str, str, str]:
        if self._is_full:
            raise DiskFull()
        self._beat.set(phase="preflight")
        self._watch()
        ready = Ready(self._root, self._spec, self._watch)
        facts = ready.facts()
        self._journal.append("preflight", **facts)
        if isinstance(facts["others_on_gpu"], list) and facts["others_on_gpu"] and not self._spec.allow_shared_gpu:
            raise RunFailed("gpu_busy", "Somebody else computes on the GPU: %s." % facts["others_on_gpu"][:5])
        self._telemetry = Telemetry(self._folder, facts["gpus"]["state"])
        self._telemetry.reading()  # before the first engine: what has to be free again at the end
        try:
            self._stages(ready)
            self._put_down()
            hands = Hands(self._launch, self._end, self._new_meter)
            After(self._spec, ready, self._journal, self._watch, self._beat, hands).run(sweep.winner(self._done), self._done)
        finally:
            self._put_down()
            self._gpu_over = self._telemetry.still_held_mib(max(GPU_LEAST_S, self._spec.limits.grace_s))
            self._telemetry.stop()
        stop = sweep.stop_of(self._spec.plan, self._done)
        if stop is not None and stop.code == "baseline_failed":
            raise RunFailed(self._codes[0], stop.text)
        return "done", stop.code if stop else "complete", stop.text if stop else "Every stage was measured."

    def _stages(self, ready: Ready) -> None:
        """Every stage the rules ask for. An engine stays up while the next stage is the same arm."""
        stage = sweep.next_stage(self._spec.plan, self._done)
        while stage is not None:
            self._watch()
            measured, body = self._stage(ready, stage)
            self._done.append(measured)
            coming = sweep.next_stage(self._spec.plan, self._done)
            if measured.status != "ok" or coming is None or (coming.n_max, coming.c) != (stage.n_max, stage.c):
                self._put_down()
            self._journal.append("stage_done", **body)
            self._verdict(stage, coming)
            stage = coming

    def _verdict(self, stage: Stage, coming: Stage | None) -> None:
        stop = sweep.stop_of(self._spec.plan, self._done)
        winner = sweep.winner(self._done)
        seen = {item.stage.name for item in self._done}
        self._journal.append(
            "verdict", after=stage.name, winner=winner, best_ratio=self._ratio(winner), stop=None if stop is None else asdict(stop),
            undecided=coming is not None and coming.name in seen, noise=self._noise() if len(self._done) == 1 else None,
        )  # fmt: skip

    def _noise(self) -> dict[str, Any] | None:
        """What the opening baseline, as a pilot, says about noise: repetitions needed and what they cost."""
        pilot = self._done[0]
        each = (pilot.took_s - pilot.load_s) / (pilot.stage.repetitions + 1)
        found = noise_plan(pilot.tok_per_s, self._spec.plan, repetition_s=each, load_s=pilot.load_s, forced=len(self._spec.forced))
        return dict(found.as_json(), text=found.text + too_long(found, self._spec.limits.lifetime_s)) if found else None

    def _ratio(self, winner: int | None) -> float | None:
        """Median of the winner over the median of the baseline."""
        off, best = self._rates(sweep.OFF), self._rates(winner)
        return median(best) / median(off) if off and best else None

    def _rates(self, n_max: int | None) -> list[float]:
        """Warm rates of the single-stream search."""
        return [rate for item in self._done if item.stage.n_max == n_max and item.stage.kind not in sweep.BESIDE for rate in item.tok_per_s]

    def _stage(self, ready: Ready, stage: Stage) -> tuple[Measured, dict[str, Any]]:
        """One visit to an arm: what the rules need of it, and the body of its `stage_done`. The engine is left up."""
        samples: list[dict[str, Any]] = []
        code, reason, load_s, begun = "", "", 0.0, time.monotonic()
        try:
            load_s = self._take_up(ready, stage)
            self._repeat(stage, samples)
        except StageFailed as failed:
            code, reason = failed.code, str(failed)
        took_s = time.monotonic() - begun
        counted = [item for item in samples if item["counted"]]
        rates = [item["tok_s"] for item in counted]
        status = "failed" if code else "ok"
        self._codes[len(self._done)] = code
        priced = figures_of(counted)
        body = dict(
            priced, stage=stage.as_json(), status=status, code=code, reason=reason, tok_s=rates, drafted=_sum(counted, "drafted"),
            accepted=_sum(counted, "accepted"), proposed_denominator="of proposed", took_s=took_s, load_s=load_s,
        )  # fmt: skip
        measured = Measured(
            stage, tuple(rates), status, reason, code, tuple(priced["step_ms"]), tuple(priced["per_position"]), took_s, load_s
        )
        return measured, body

    def _take_up(self, ready: Ready, stage: Stage) -> float:
        """An engine for the stage's arm, warmed up; seconds its start took, 0 where it was still up. Raises StageFailed, RunFailed."""
        if self._engine is not None:
            self._beat.set(stage=stage.name)
            self._journal.append("stage_started", stage=stage.as_json(), server=self._engine.number)
            return 0.0
        self._engine = self._launch(ready, stage)
        self._meter = self._new_meter(stage, self._engine)
        self._one(stage, 0, 1)
        return self._load_s

    def _new_meter(self, stage: Stage, engine: Engine) -> Meter:
        return Meter(self._spec, stage, engine, self._watch, self._telemetry)

    def _put_down(self) -> None:
        """Ends the engine that is up, if one is."""
        engine, self._engine = self._engine, None
        if engine is not None:
            self._end(engine)

    def _launch(self, ready: Ready, stage: Stage, args: list[str] | None = None, **purpose: str) -> Engine:
        """A healthy engine for the stage; another port when a stranger took the chosen one. Raises StageFailed, RunFailed.

        `args`: other arguments than the arm's own; `purpose` goes into the ledger: the start does not serve the sweep itself."""
        for attempt in range(_PORT_TRIES):
            self._servers += 1
            argv = list(ready.engine["argv"]) + (args or ready.args_for(stage.n_max, stage.c))
            engine = Engine(self._servers, argv, self._spec.added, ready.help_text)
            if attempt == 0:
                self._journal.append("stage_started", stage=stage.as_json(), server=engine.number)
            self._beat.set(phase="loading", stage=stage.name, repetition=None, repetitions=stage.repetitions, tok_per_s=None)
            argv = engine.shown_argv()
            self._journal.append("server_starting", server=engine.number, n_max=stage.n_max, c=stage.c, argv=argv, **purpose)
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
        engine.start(self._folder, environment, self._lock_fd, self._agent["cgroup"])
        found = proc.look(engine.pid)
        self._agent["engines"].append({"pgid": engine.pid, "start_time": found.start if found else 0, "port": engine.port})
        self._write_agent()
        self._load_s = load_s = engine.wait_ready(self._spec.limits.load_s, self._watch)
        log_bytes = engine.log.total if engine.log else 0
        self._journal.append("server_ready", server=engine.number, load_s=load_s, log_bytes=log_bytes, props=engine.props())

    def _end(self, engine: Engine) -> None:
        engine.stop(self._spec.limits.grace_s)  # what could not be ended is looked for again, and named, at the end of the run
        self._journal.append("server_exit", **engine.exit_facts())

    def _repeat(self, stage: Stage, samples: list[dict[str, Any]]) -> None:
        """Every asked repetition, each tried once more when it cannot be counted. An arm visited again goes on with the next prompts."""
        first = sum(item.stage.repetitions for item in self._done if item.stage.name == stage.name) + 1
        last = first + stage.repetitions - 1
        self._beat.set(repetitions=last)
        for repetition in range(first, last + 1):
            sample = self._one(stage, repetition, 1)
            if sample["status"] != OK:
                sample = self._one(stage, repetition, 2)
            if sample["status"] != OK:
                raise StageFailed("answers_invalid", "Repetition %d could not be counted twice: %s" % (repetition, sample["reason"]))
            samples.append(sample)

    def _one(self, stage: Stage, repetition: int, attempt: int) -> dict[str, Any]:
        engine = self._engine
        assert engine is not None
        self._beat.set(phase="measuring" if repetition else "warming up", repetition=repetition)
        if engine.listener() == FOREIGN and not engine.died(1.0):  # a dying engine's socket belongs to nobody for a moment
            raise StageFailed("port", "Another program listens on the engine's port.")
        sample = self._meter.sample(repetition, attempt)
        self._journal.append("sample", stage=stage.as_json(), **sample)
        self._beat.set(tok_per_s=sample["tok_s"])
        if was_cut(sample) and engine.died(1.0):
            code = "out_of_memory" if engine.was_out_of_memory() else "engine_died"
            raise StageFailed(code, "The engine ended during repetition %d (%s)." % (repetition, engine.how_it_ended()))
        return sample

    def _finish(self, outcome: str, code: str, text: str) -> None:
        """Nothing of ours may live and the box is free before the last event says that the run is over."""
        proof = prove(self._root, self._spec.run_id, self._agent, lambda: self._gpu_over)
        os.close(self._lock_fd)
        body = last_words(self._spec.plan, self._done, outcome, (code, text), proof)
        self._journal.append("run_finished", samples=self._journal.samples, **body)
        self._journal.close()
        self._beat.stop("finished")


def _sum(samples: list[dict[str, Any]], key: str) -> int | None:
    values = [item[key] for item in samples if item[key] is not None]
    return sum(values) if values else None
