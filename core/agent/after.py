"""What follows a sweep on the same box: the forced-acceptance pass and the tool suites. Its failures are stored and end nothing else."""

from __future__ import annotations

import time
from typing import Any, Callable, NamedTuple, Sequence

from core.agent.engine import Engine
from core.agent.heartbeat import Heartbeat
from core.agent.journal import Journal
from core.agent.measure import OK, Meter
from core.agent.preflight import Ready, RunFailed, StageFailed
from core.agent.pricing import draft_ms
from core.agent.spec import Spec
from core.agent.suites import MISSING, TIMEOUT, SuiteRunner, missing
from core.agent.watch import Watch
from core.domain.arms import FORCED_ALL, FORCED_NONE, FORCED_REPETITIONS, OFF, SUITE, Measured, Stage
from core.domain.cost_line import ALL, Point, across, fit
from core.domain.price import step_ms, tokens_per_step


class Hands(NamedTuple):
    """The run's own: what they start and stop stands in the ledger like every other engine."""

    launch: Callable[..., Engine]
    end: Callable[[Engine], None]
    meter: Callable[[Stage, Engine], Meter]


class After:
    """The work beside the sweep, with the run's own hands."""

    def __init__(self, spec: Spec, ready: Ready, journal: Journal, watch: Watch, beat: Heartbeat, hands: Hands) -> None:
        self._spec, self._ready, self._journal, self._watch = spec, ready, journal, watch
        self._beat, self._hands = beat, hands

    def run(self, winner: int | None, done: Sequence[Measured]) -> None:
        """Everything that was asked for beside the sweep; nothing where its baseline could not be measured. Raises Stopped, OutOfTime."""
        if winner is None:
            return
        if self._spec.forced:
            self._forced_pass(done)
        if self._spec.suites:
            for n in (winner or 1, OFF):
                self._visit(Stage(SUITE, n, self._spec.plan.production_c, sum(item["runs"] for item in self._spec.suites)), self._suites)

    def _visit(self, stage: Stage, work: Callable[[Stage, Engine], str], args: list[str] | None = None, **purpose: str) -> None:
        """An engine of its own for the stage, the work on it, the stage's last word. `work` answers with a reason where it fell short."""
        code, reason, begun = "", "", time.monotonic()
        engine = None  # type: Engine | None
        try:
            engine = self._hands.launch(self._ready, stage, args, **(purpose or {"purpose": "suite"}))
            reason = work(stage, engine)
            code = "answers_invalid" if reason else ""
        except (StageFailed, RunFailed) as failed:
            code, reason = failed.code, str(failed)
        finally:
            if engine is not None:
                self._hands.end(engine)
        self._journal.append(
            "stage_done", stage=stage.as_json(), status="failed" if code else "ok", code=code, reason=reason, tok_s=[], drafted=None,
            accepted=None, proposed_denominator="of proposed", step_ms=[], per_position=[], d_ms=None,
            took_s=time.monotonic() - begun, load_s=0.0,
        )  # fmt: skip

    def _forced_pass(self, done: Sequence[Measured]) -> None:
        """Two points for each n, and the lines they give. A point that the time budget has no room for is left out, and named."""
        points = {}  # type: dict[tuple[int, str], list[Point]]
        drafting = {}  # type: dict[int, list[float]]
        left_out = []  # type: list[dict[str, Any]]
        purse = _Purse(self._spec.plan.budget_s, done)
        for item in self._spec.forced:
            word, n = item["point"], item["n_max"]
            if not purse.affords_one():
                left_out.append({"n_max": n, "point": word})
                continue
            begun = time.monotonic()
            stage = Stage(FORCED_ALL if word == ALL else FORCED_NONE, n, 1, FORCED_REPETITIONS)
            samples = []  # type: list[dict[str, Any]]
            self._visit(stage, self._repeating(word, samples), self._ready.filled(item["args"]), purpose="forced", synthetic=word)
            points[(n, word)] = [point for point in map(_point, samples) if point is not None]
            d_ms = draft_ms(samples)
            drafting[n] = drafting.get(n, []) + ([] if d_ms is None else [d_ms])
            purse.spend(time.monotonic() - begun)
        known = {n: sum(found) / len(found) if found else None for n, found in drafting.items()}
        lines = fit(points, known)
        self._journal.append("forced_fit", lines=[line.as_json() for line in lines], across=across(lines), left_out=left_out)

    def _repeating(self, word: str, samples: list[dict[str, Any]]) -> Callable[[Stage, Engine], str]:
        """Warm-up and repetitions of one forced point; a repetition that cannot be counted ends the point."""

        def repeat(stage: Stage, engine: Engine) -> str:
            meter = self._hands.meter(stage, engine)
            for repetition in range(stage.repetitions + 1):
                self._watch()
                self._beat.set(phase="forcing acceptance", repetition=repetition, repetitions=stage.repetitions)
                sample = meter.sample(repetition, 1)
                self._journal.append("sample", stage=stage.as_json(), synthetic=word, **sample)
                if sample["counted"]:
                    samples.append(sample)
                elif sample["status"] != OK:
                    return "Repetition %d could not be counted: %s" % (repetition, sample["reason"])
            return ""

        return repeat

    def _suites(self, stage: Stage, engine: Engine) -> str:
        """Every suite so often as asked; one that is missing or hangs is not tried again on this side."""
        reason = ""
        runner = SuiteRunner(self._spec, engine, self._watch)
        for item in self._spec.suites:
            suite = self._ready.suites.get(item["id"])
            for number in range(1, item["runs"] + 1):
                self._watch()
                self._beat.set(phase="suite %s" % item["id"], repetition=number, repetitions=item["runs"])
                found = missing(item["id"]) if suite is None else runner.run(suite, number)
                self._journal.append("suite_run", n_max=stage.n_max, c=stage.c, server=engine.number, run=number, **found)
                reason = reason or ("" if found["status"] == OK else "Suite %s: %s" % (item["id"], found["reason"]))
                if found["status"] in (MISSING, TIMEOUT) or engine.died():
                    break
        return reason


class _Purse:
    """What is left of the time budget, seconds; each further point is taken to last as long as the longest single-stream visit so far."""

    def __init__(self, budget_s: float, done: Sequence[Measured]) -> None:
        self._budget_s = budget_s
        self._spent_s = sum(item.took_s for item in done)
        self._longest_s = max((item.took_s for item in done if item.stage.c == 1), default=0.0)

    def affords_one(self) -> bool:
        return not self._budget_s or self._spent_s + self._longest_s <= self._budget_s

    def spend(self, seconds: float) -> None:
        self._spent_s += seconds
        self._longest_s = max(self._longest_s, seconds)


def _point(sample: dict[str, Any]) -> Point | None:
    """(a, D + V in ms) of one repetition at one stream."""
    timings, accepted = sample["streams"][0]["timings"], sample["accepted"]
    a = tokens_per_step(timings["predicted_n"], accepted)
    cost = step_ms(timings["predicted_ms"], timings["predicted_n"], accepted)
    return None if a is None or cost is None else (a, cost)
