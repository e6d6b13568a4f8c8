"""Everything recorded of a cell's repetitions: both clocks, gaps, acceptance by position and slot, D, V, and what the box did meanwhile."""

from __future__ import annotations

from statistics import median
from typing import Any

from core.domain.price import reject_cost_ms, step_ms, tokens_per_step
from core.services.access import authorize
from core.services.house import House
from core.services.ingest import draft_ms, per_position

Row = dict[str, Any]


def repetitions_of(house: House, run_id: str, n_max: int, c: int) -> list[Row]:
    """One entry a repetition, cold and failed ones included, in their order.

    {seq, stage, repetition, attempt, temperature, counted, status, reason, engine_tok_s, client_tok_s, ttft_ms, last_token_ms, gap_ms,
    tokens_per_event, drafted, accepted, steps, per_position, slots, d_ms, v_ms, reject_cost_ms, gpu_memory_mib, throttle, others_on_gpu,
    host_load_1m, agent_cpu_share, telemetry}. Rates are per stream and, like gaps and times, the middle one of the streams; `last_token_ms`
    is the latest. `reject_cost_ms` is an upper bound per token. None: not recorded; "n/a": the box has no GPU.
    """
    authorize(house, "see", run_id)
    events = house.store.runs.events(run_id, kinds=("sample",))
    bodies = [{**one["body"], "seq": one["seq"]} for one in events if not one["body"].get("synthetic")]
    h_ms = _plain_step_ms([one for one in bodies if (one["n_max"], one["c"]) == (0, c)])
    return [_row(one, h_ms) for one in bodies if (one["n_max"], one["c"]) == (n_max, c)]


def _plain_step_ms(baseline: list[Row]) -> float | None:
    """H per stream: the middle one of the baseline's counted streams."""
    found = [1000.0 / rate for one in baseline if one["counted"] for rate in map(_engine_rate, one.get("streams", [])) if rate]
    return median(found) if found else None


def _engine_rate(stream: Row) -> float | None:
    timings = stream.get("timings") or {}
    count, took = timings.get("predicted_n"), timings.get("predicted_ms")
    return 1000.0 * (count - 1) / took if count and took and count > 1 else None


def _middle(values: list[Any]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known and len(known) == len(values) else None


def _row(body: Row, h_ms: float | None) -> Row:
    streams = body.get("streams", [])
    names = ("seq", "repetition", "attempt", "temperature", "counted", "status", "reason", "drafted", "accepted", "gpu_memory_mib",
             "throttle", "others_on_gpu", "host_load_1m")  # fmt: skip
    took, cost = body.get("took_ms"), body.get("agent_cpu_ms")
    latest = [stream.get("last_token_ms") for stream in streams]
    return {
        **{name: body.get(name) for name in names},
        **_step(body, h_ms),
        "stage": body["stage"]["name"],
        "engine_tok_s": _middle([_engine_rate(stream) for stream in streams]),
        **{name: _middle([stream.get(key) for stream in streams])
           for name, key in (("client_tok_s", "client_tok_s"), ("ttft_ms", "ttft_ms"), ("tokens_per_event", "tokens_per_event"))},
        "last_token_ms": max(latest) if latest and None not in latest else None,
        "gap_ms": {name: _middle([(stream.get("gap_ms") or {}).get(name) for stream in streams]) for name in ("p50", "p95", "p99")},
        "per_position": per_position(body) if "metrics_after" in body else None,
        "slots": _slots(streams) if body["n_max"] else [],
        "agent_cpu_share": cost / took if took and cost is not None else None,
        "telemetry": body.get("telemetry", []),
    }  # fmt: skip


def _slots(streams: list[Row]) -> list[Row]:
    """{slot, drafted, accepted, share} of every stream whose slot is known."""
    found = []
    for stream in streams:
        timings = stream.get("timings") or {}
        drafted, accepted = timings.get("draft_n"), timings.get("draft_n_accepted")
        if stream.get("slot") is not None and drafted:
            found.append({"slot": stream["slot"], "drafted": drafted, "accepted": accepted or 0, "share": (accepted or 0) / drafted})
    return sorted(found, key=lambda one: one["slot"])


def _step(body: Row, h_ms: float | None) -> Row:
    """Steps, D, V and the bound on rejected drafts; D and V at one stream only, where a draft call serves one slot."""
    blank: Row = {"steps": None, "step_ms": None, "d_ms": None, "v_ms": None, "reject_cost_ms": None}
    timings = [stream.get("timings") or {} for stream in body.get("streams", [])]
    counts = [item.get("predicted_n") for item in timings]
    if not body["n_max"] or body.get("accepted") is None or not counts or None in counts:
        return blank
    tokens = sum(int(count) for count in counts if count) - len(counts) + 1
    found = {**blank, "steps": tokens - 1 - body["accepted"]}
    if body["c"] > 1 or found["steps"] < 1 or not timings[0].get("predicted_ms"):
        return found
    step, a = step_ms(timings[0]["predicted_ms"], tokens, body["accepted"]), tokens_per_step(tokens, body["accepted"])
    d_ms = draft_ms(body)
    lost = reject_cost_ms(body["drafted"] or 0, body["accepted"], step, h_ms, a) if step and a and h_ms is not None else None
    return {**found, "step_ms": step, "d_ms": d_ms, "v_ms": step - d_ms if step is not None and d_ms is not None else None,
            "reject_cost_ms": None if lost is None else max(0.0, lost)}  # fmt: skip
