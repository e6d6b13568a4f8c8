"""One repetition against a running engine: what was sent, what came back raw, and whether it may be counted."""

from __future__ import annotations

import math
import re
import time
from typing import Any, Sequence

from core.agent import boxfacts
from core.agent.client import Stream, body_for
from core.agent.during import box_facts
from core.agent.engine import Engine
from core.agent.spec import Spec
from core.agent.talk import ENDED_EARLY, Talker, converse
from core.agent.telemetry import Telemetry
from core.agent.turns import Turns
from core.agent.watch import Watch
from core.domain.price import decode_tok_per_s
from core.domain.sweep import Stage

OK, FAILED, INVALID = "ok", "failed", "invalid"
_COUNTS = ("predicted_n", "prompt_n")
_ABSURD_TOK_S, _ABSURD_MS = 1e6, 1e10
_METRIC_LINES = 200
_STATISTICS_WAIT_S = 1.0
_GENERATED = re.compile(r"#gen tokens = +(\d+), #acc tokens = +(\d+)")
_SLOT = re.compile(r"id +(\d+) \| task +-?\d+ \| draft acceptance(?: rate)? = +[\d.]+ \( *(\d+) accepted / *(\d+) generated\)")
_COUNTER = re.compile(r"^\w+:spec_decode_num_(draft|accepted)_tokens_total(?:\{[^}]*\})? ([\d.eE+]+)$", re.MULTILINE)


class Meter:
    """Measures repetitions of one stage on one engine; remembers the engine's cumulative figures between them."""

    def __init__(self, spec: Spec, stage: Stage, engine: Engine, watch: Watch, telemetry: Telemetry) -> None:
        self._spec, self._stage, self._engine, self._watch, self._telemetry = spec, stage, engine, watch, telemetry
        telemetry.engine_pid = engine.pid
        self._statistics = {}  # type: dict[str, str]
        self._prints = stage.n_max > 0

    def sample(self, repetition: int, attempt: int) -> dict[str, Any]:
        """Body of a `sample` event. Raises Stopped, OutOfTime."""
        prompts = self._prompts(repetition)
        before = self._metrics()
        log_before, statistics_before = self._engine.log.total if self._engine.log else 0, self._statistics_text()
        streams = [self._talker(prompt) for prompt in prompts]
        load = boxfacts.load_1m()
        told = self._converse(streams)
        self._read_statistics(log_before, sum(len(asked_of(prompt)) for prompt in prompts))
        answers = [stream.answer for stream in streams]
        if self._engine.log:
            name_slots(each_turn(answers), self._engine.log.since(log_before).decode("utf-8", "replace"))
        sample = {
            "server": self._engine.number, "n_max": self._stage.n_max, "c": self._stage.c, "repetition": repetition, "attempt": attempt,
            "temperature": "warm" if repetition else "cold", "counted": False, "prompt_ids": [item["id"] for item in prompts],
            "streams": answers, "tok_s": None, "metrics_before": before, "metrics_after": self._metrics(),
            "statistics_line": self._statistics_text() if self._statistics_text() != statistics_before else "",
            "statistics_before": statistics_before, "host_load_1m": load,
        }  # type: dict[str, Any]  # fmt: skip
        sample.update(told)
        sample["drafted"], sample["accepted"] = drafted_of(sample)
        sample["status"], sample["reason"] = judge(sample, self._spec.max_tokens)
        if sample["status"] == OK:
            sample["tok_s"] = rate_of(answers)
            sample["counted"] = repetition > 0
        return sample

    def _converse(self, streams: Sequence[Talker]) -> dict[str, Any]:
        """Runs the streams with a look at the box before, during and after; what those looks say, and what the agent itself cost."""
        before = self._telemetry.reading()
        begun, cost = time.monotonic_ns(), time.process_time()
        self._telemetry.nudge()
        converse(streams, self._watch, self._spec.limits.request_s, self._engine.died)
        ended, cost = time.monotonic_ns(), time.process_time() - cost
        after = self._telemetry.reading()
        inside = self._telemetry.between(begun, ended)
        return dict(box_facts(before, inside, after, begun), agent_cpu_ms=1000.0 * cost, took_ms=(ended - begun) / 1e6)

    def _prompts(self, repetition: int) -> list[dict[str, Any]]:
        """Warm-up takes the last prompts of the list, counted repetitions the next ones from the start: the same for every arm."""
        listed, c = self._spec.prompts, self._stage.c
        if repetition == 0:
            return [listed[(len(listed) - 1 - s) % len(listed)] for s in range(c)]
        return [listed[((repetition - 1) * c + s) % len(listed)] for s in range(c)]

    def _talker(self, prompt: dict[str, Any]) -> Talker:
        """One request, or a tool loop's several."""
        spec = self._spec
        bodies = [body_for(spec.route, spec.body, said, spec.max_tokens) for said in asked_of(prompt)]
        streams = [Stream(self._engine.door, spec.route, body) for body in bodies]
        return streams[0] if len(streams) == 1 else Turns(streams)

    def _metrics(self) -> str:
        """Lines of /metrics that speak of speculation, raw."""
        if not self._spec.added["metrics"] or self._engine.died():
            return ""
        status, body = self._engine.door.get("/metrics")
        lines = body.decode("utf-8", "replace").splitlines() if status == 200 else []
        return "\n".join([line for line in lines if "spec_decode" in line and not line.startswith("#")][:_METRIC_LINES])

    def _read_statistics(self, log_before: int, answers: int) -> None:
        """One line an answer. It can come a moment late. An engine that prints none after its first request is not waited for again."""
        log = self._engine.log
        if log is None:
            return
        deadline = time.monotonic() + (_STATISTICS_WAIT_S if self._prints else 0.0)
        while True:
            found = log.statistics_since(log_before)
            names = {name for name, _ in found}
            if all(sum(1 for other, _ in found if other == name) >= answers for name in names or {""}):
                break
            if time.monotonic() >= deadline or self._engine.died():
                break
            self._watch.sleep(0.02)
        self._prints = self._prints and bool(found)
        self._statistics.update(dict(found))

    def _statistics_text(self) -> str:
        """The last raw line; one line for each implementation where several are chained."""
        return "\n".join(self._statistics[name] for name in sorted(self._statistics))


def asked_of(prompt: dict[str, Any]) -> list[list[str]]:
    """What each request of a prompt says: the text, or a tool loop's turns up to each that is asked."""
    turns = prompt["turns"]
    return [turns[: at + 1] for at in range(0, len(turns), 2)] if turns else [[prompt["text"]]]


def each_turn(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The engine's single answers: a tool loop's turns, else the answer itself."""
    return [turn for answer in answers for turn in answer.get("turns", [answer])]


def rate_of(answers: list[dict[str, Any]]) -> float | None:
    """tok/s: the engine's decode rate for one stream; for more, all decode tokens over the time the client saw text."""
    if len(answers) == 1:
        timings = answers[0]["timings"]
        return decode_tok_per_s(timings["predicted_ms"], timings["predicted_n"])
    tokens = sum(answer["timings"]["predicted_n"] - 1 for answer in answers)
    span = max(answer["last_ns"] for answer in answers) - min(answer["first_ns"] for answer in answers)
    return tokens * 1e9 / span if span > 0 else None


def name_slots(answers: list[dict[str, Any]], log: str) -> None:
    """Gives each answer the slot that served it, where the reply does not say so itself: the engine's log prints every slot's counts."""
    printed = [(int(slot), int(made), int(taken)) for slot, taken, made in _SLOT.findall(log)]
    for answer in answers:
        timings = answer["timings"] or {}
        counts = (timings.get("draft_n"), timings.get("draft_n_accepted"))
        match = next((item for item in printed if item[1:] == counts), None)
        if answer["slot"] is None and match is not None:
            printed.remove(match)
            answer["slot"] = match[0]


def was_cut(sample: dict[str, Any]) -> bool:
    """Whether a connection broke: then the engine may be gone, a moment before the kernel says so."""
    return any(answer["error"] not in (None, ENDED_EARLY) and answer["http_status"] in (None, 200) for answer in sample["streams"])


def judge(sample: dict[str, Any], max_tokens: int) -> tuple[str, str]:
    """(status, reason): `failed` when no answer came, `invalid` when one came that cannot be counted."""
    for answer in each_turn(sample["streams"]):
        if answer["error"] is not None or answer["http_status"] != 200:
            return FAILED, "Request failed (%s): %s" % (answer["http_status"] or "no answer", str(answer["error"])[:300])
    for answer in each_turn(sample["streams"]):
        reason = flaw_of(answer, max_tokens)
        if reason:
            return INVALID, reason
    reason = _draft_flaw(sample["n_max"], sample["drafted"], sample["accepted"])
    if reason:
        return INVALID, reason
    if rate_of(sample["streams"]) is None:
        return INVALID, "No decode rate can be formed from the answer."
    return OK, ""


def flaw_of(answer: dict[str, Any], max_tokens: int) -> str:
    """Why one answer cannot be counted, "" when it can."""
    timings = answer["timings"]
    if timings is None:
        return "The answer has no timings."
    if not all(is_number(timings.get(key)) and timings[key] >= 0 for key in ("predicted_ms",) + _COUNTS):
        return "The answer's timings are missing, negative or not numbers."
    count, took = timings["predicted_n"], timings["predicted_ms"]
    if not isinstance(count, int) or not 0 < took < _ABSURD_MS or count * 1000.0 / took > _ABSURD_TOK_S:
        return "The answer's timings are absurd: %s tokens in %s ms." % (count, took)
    if count != max_tokens:
        return "%d tokens came, %d were asked for." % (count, max_tokens)
    if answer["cached_tokens"]:
        return "%d prompt tokens came from a cache." % answer["cached_tokens"]
    if answer["first_ns"] is None:
        return "The answer has no text."
    return ""


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _draft_flaw(n_max: int, drafted: int | None, accepted: int | None) -> str:
    if n_max > 0 and not drafted:
        return "Nothing was drafted although speculation was asked for."
    if n_max == 0 and drafted:
        return "%d tokens were drafted although speculation was off." % drafted
    if (accepted or 0) > (drafted or 0):
        return "More tokens were accepted (%d) than drafted (%d)." % (accepted or 0, drafted or 0)
    return ""


def drafted_of(sample: dict[str, Any]) -> tuple[int | None, int | None]:
    """Drafted and accepted tokens of the repetition from the first source that speaks: timings, /metrics, statistics line; else None."""
    timings = [answer["timings"] or {} for answer in sample["streams"]]
    if any(is_number(item.get("draft_n")) for item in timings):
        return _total(timings, "draft_n"), _total(timings, "draft_n_accepted")
    for before, after, read in (
        (sample["metrics_before"], sample["metrics_after"], _from_metrics),
        (sample["statistics_before"], sample["statistics_line"], _from_statistics),
    ):
        new = read(after)
        if new is not None:
            old = read(before) or (0, 0)
            return new[0] - old[0], new[1] - old[1]
    return None, None


def _total(timings: list[dict[str, Any]], key: str) -> int:
    return sum(int(item[key]) for item in timings if is_number(item.get(key)))


def _from_metrics(text: str) -> tuple[int, int] | None:
    found = {name: int(float(value)) for name, value in _COUNTER.findall(text)}
    return (found["draft"], found.get("accepted", 0)) if "draft" in found else None


def _from_statistics(text: str) -> tuple[int, int] | None:
    found = _GENERATED.findall(text)
    return (sum(int(made) for made, _ in found), sum(int(taken) for _, taken in found)) if found else None
