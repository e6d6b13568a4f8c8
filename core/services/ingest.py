"""Turns a page of events into rows: recipes and placements when an engine is up, one sample per repetition. No network, no store."""

from __future__ import annotations

import math
from typing import Any

from core.domain.event_forms import LARGEST, odd_event
from core.domain.event_lines import Page, event_row, when
from core.domain.price import steps_taken
from core.domain.recipe import digest, recipe_of
from core.domain.sound import is_rate, rate_fault
from core.errors import OutputNotUnderstood
from core.formats import metrics, statistics, version
from core.formats.load_log import read_placement
from core.ports.batch import Batch

PLACEMENT_IDENTITY = ("state", "layers_offloaded", "layers_total", "host_mib", "n_cpu_moe")


class Context:
    """What earlier events said that later rows need: engine, artifact, and the recipe of each engine start."""

    def __init__(self, spec: dict[str, Any], seen: list[dict[str, Any]], servers: list[dict[str, Any]]) -> None:
        self.spec = spec
        self.preflight: dict[str, Any] = next((event["body"] for event in seen if event["kind"] == "preflight"), {})
        self.starts: dict[int, dict[str, Any]] = {e["body"]["server"]: e["body"] for e in seen if e["kind"] == "server_starting"}
        self.recipe_ids: dict[int, str] = {row["server"]: row["recipe_id"] for row in servers}


def batch_of(page: Page, context: Context, *, run_id: str, offset: int, logs: dict[int, bytes]) -> Batch:
    """The rows of one page. `logs`: load log by engine start, up to readiness; without one the placement is unknown."""
    batch = Batch(run_id, offset + page.consumed, page.last_seq, page.last_sha)
    for event in page.events:
        try:
            _take(batch, context, event, logs)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError) as odd:
            raise odd_event(event, f"{type(odd).__name__}: {odd}"[:200]) from odd
    return batch


def _take(batch: Batch, context: Context, event: dict[str, Any], logs: dict[int, bytes]) -> None:
    """The rows of one event."""
    row = event_row(event)
    body = row["body"]
    batch.events.append(row)
    if event["kind"] == "run_started" and body["run_id"] != batch.run_id:
        raise OutputNotUnderstood(
            "The box told this run with another run's record. Nothing of it was taken in.",
            hint="What came before is kept. Look at the box before it measures again.",
        )
    if event["kind"] == "preflight":
        context.preflight = body
    elif event["kind"] == "server_starting":
        context.starts[body["server"]] = body
    elif event["kind"] == "server_ready":
        _add_server(batch, context, body, logs.get(body["server"]))
    elif event["kind"] == "sample":
        batch.samples.append(_within(sample_row(batch.run_id, event, body, context.recipe_ids.get(body["server"], ""))))
    elif event["kind"] == "suite_run":
        batch.suite_runs.append(suite_row(batch.run_id, event, body))


def _within(row: dict[str, Any]) -> dict[str, Any]:
    """The row, when every figure of it is one that its column holds."""
    large = [name for name, value in row.items() if isinstance(value, int | float) and abs(value) > LARGEST]
    if large:
        raise ValueError(f"{large[0]} is larger than anything that can be measured")
    return row


def _add_server(batch: Batch, context: Context, body: dict[str, Any], log: bytes | None) -> None:
    number = body["server"]
    start = context.starts[number]
    placement = placement_of(log, start["argv"], no_gpu=context.preflight.get("gpus", {}).get("state") == "none")
    build, commit = version.read_version(context.preflight.get("engine", {}).get("version_text", ""))
    recipe = recipe_of(
        engine={"kind": "llama.cpp", "build": build, "commit": commit},
        artifact_sha256=context.preflight.get("artifact", {}).get("sha256"),
        placement={key: placement.get(key) for key in PLACEMENT_IDENTITY},
        asked=context.spec["asked"],
        n_max=start["n_max"],
        slots=start["c"],
        synthetic=start.get("synthetic"),
    )
    recipe_id = digest(recipe)
    context.recipe_ids[number] = recipe_id
    batch.recipes[recipe_id] = recipe
    batch.servers.append(
        {
            "server": number,
            "n_max": start["n_max"],
            "c": start["c"],
            "recipe_id": recipe_id,
            "argv": start["argv"],
            "placement": placement,
            "load_s": body.get("load_s"),
            "purpose": start.get("purpose") or "sweep",
        }
    )


def placement_of(log: bytes | None, argv: list[str], *, no_gpu: bool = False) -> dict[str, Any]:
    """Placement read back from a load log: state resident | spilled | host-only | unknown, a label, MiB by side."""
    if log is None:
        return {"state": "unknown", "label": "unknown: the load log was not fetched"}
    found = read_placement(log.decode("utf-8", "replace").splitlines())
    cpu_moe = _asked_number(argv, ("--n-cpu-moe", "-ncmoe"))
    more = {
        "layers_offloaded": found.layers_offloaded,
        "layers_total": found.layers_total,
        "host_mib": found.host_mib,
        "device_mib": found.device_mib,
        "host_share": found.host_share,
        "mapped_span_mib": found.mapped_span_mib,
        "n_cpu_moe": cpu_moe,
    }
    if found.host_only or no_gpu:
        return {"state": "host-only", "label": "host only (no GPU)", **more}
    if found.spilled is None:
        return {"state": "unknown", "label": f"unknown: {found.reason}", **more}
    if not found.spilled:
        return {"state": "resident", "label": "zero spill", **more}
    share = f" ({found.host_share:.0%} of weights)" if found.host_share is not None else ""
    layers = f"{cpu_moe} layers' experts, " if cpu_moe else ""
    size = f"{found.host_mib:.0f} MiB" if found.host_mib is not None else "weights"
    return {"state": "spilled", "label": f"{layers}{size} on the host{share}", **more}


def _asked_number(argv: list[str], flags: tuple[str, ...]) -> int | None:
    for flag, text in zip(argv, argv[1:], strict=False):
        if flag in flags and text.isdigit():
            return int(text)
    return None


def _sum(streams: list[dict[str, Any]], key: str) -> float | None:
    values = [(stream.get("timings") or {}).get(key) for stream in streams]
    good = [value for value in values if isinstance(value, int | float) and math.isfinite(value) and value >= 0]
    return sum(good) if good and len(good) == len(values) else None


def sample_row(run_id: str, event: dict[str, Any], body: dict[str, Any], recipe_id: str) -> dict[str, Any]:
    """One repetition as a row. Counts are sums over its streams; a figure the engine did not give stays None."""
    streams = body["streams"]
    predicted = _sum(streams, "predicted_n")
    drafted, accepted = (_sum(streams, "draft_n"), _sum(streams, "draft_n_accepted")) if body["n_max"] else (None, None)
    decode_tokens = int(predicted) - len(streams) if predicted else None
    prompt_n, prompt_ms = _sum(streams, "prompt_n"), _sum(streams, "prompt_ms")
    status, reason = body["status"], body.get("reason") or ""
    if status == "ok" and not is_rate(body["tok_s"]):
        status, reason = "invalid", f"{rate_fault(body['tok_s'])}, yet the repetition was called ok"
    ttft = [stream["ttft_ms"] for stream in streams if stream.get("ttft_ms") is not None]
    return {
        "run_id": run_id,
        "seq": event["seq"],
        "server": body["server"],
        "recipe_id": recipe_id,
        "stage": body["stage"]["name"],
        "n_max": body["n_max"],
        "c": body["c"],
        "repetition": body["repetition"],
        "temperature": body["temperature"],
        "counted": body["counted"],
        "kind": "synthetic" if body.get("synthetic") else "real",
        "status": status,
        "reason": reason,
        "tok_per_s": body["tok_s"] if is_rate(body["tok_s"]) else None,
        "client_tok_per_s": streams[0].get("client_tok_s") if len(streams) == 1 else None,
        "ttft_ms": sum(ttft) / len(ttft) if ttft else None,
        "prefill_tok_per_s": 1000.0 * prompt_n / prompt_ms if prompt_n and prompt_ms else None,
        "wall_ms": max((stream["wall_ms"] for stream in streams if stream.get("wall_ms") is not None), default=None),
        "decode_tokens": decode_tokens,
        "predicted_ms": _sum(streams, "predicted_ms"),
        "prompt_n": prompt_n,
        "prompt_ms": prompt_ms,
        "drafted": drafted,
        "accepted": accepted,
        "steps": steps_taken(decode_tokens + 1, int(accepted)) if decode_tokens and accepted is not None else None,
        "per_position": per_position(body),
        "d_ms": draft_ms(body),
        "prompt_ids": body.get("prompt_ids"),
        "text_sha256": [stream.get("text_sha256") for stream in streams],
        "noted_at": when(event),
        "provenance": "measured",
    }


def suite_row(run_id: str, event: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """One run of a tool suite as a row; no score is None, never 0."""
    names = ("suite", "n_max", "c", "run", "status", "reason", "score", "exit_code", "took_s", "output", "errors")
    return {"run_id": run_id, "seq": event["seq"], **{name: body[name] for name in names}, "noted_at": when(event)}


def draft_ms(body: dict[str, Any]) -> float | None:
    """D: draft time over draft calls, from the difference of two statistics lines; None where the engine printed none.

    With several streams one call drafts for all slots at once, so a cost per stream cannot be told from it: None.
    """
    after = statistics.read_statistics([body.get("statistics_line") or ""])
    if not body["n_max"] or body["c"] > 1 or not after:
        return None
    before = statistics.read_statistics([body.get("statistics_before") or ""])
    found = statistics.difference(before[-1] if before else None, after[-1])
    return found.D_ms if found else None


def per_position(body: dict[str, Any]) -> list[float] | None:
    """P_i: share of verified drafts accepted at least i + 1 tokens deep, from the difference of two /metrics readings."""
    if not body["n_max"] or not body.get("metrics_after"):
        return None
    found = metrics.difference(metrics.read_metrics(body.get("metrics_before") or ""), metrics.read_metrics(body["metrics_after"]))
    drafts, counts = found.get("drafts"), found.get("accepted_per_pos")
    if not isinstance(counts, dict) or not isinstance(drafts, float) or drafts <= 0:
        return None
    by_place = sorted((int(label.rpartition("=")[2]), count) for label, count in counts.items())
    return [count / drafts for _, count in by_place]
