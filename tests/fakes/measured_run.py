"""Writes a synthetic run into the store: events, recipes, engine starts, samples and a raw log, as the follower would have left them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from core.domain.price import steps_taken
from core.domain.recipe import digest, recipe_of
from core.domain.run import DONE
from core.domain.sweep import BASELINE, BASELINE_AGAIN, PRODUCTION, STEP, Stage, winner_of
from core.ports.batch import Batch
from core.services.house import House

START = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=2)  # young enough not to be stale
DECODE_TOKENS = 128  # per repetition and stream, the first token excluded
RATES = {0: [22.0, 22.2, 22.4], 1: [26.1, 26.3, 26.5], 2: [21.4, 21.6, 21.8]}
ACCEPTED = {1: 120 / 256, 2: 0.6}  # accepted draft tokens per decoded token: an a of 1.88 and of 2.5
PLACEMENT = {
    "state": "spilled", "label": "14 layers' experts, 9000 MiB on the host (41% of weights)", "layers_offloaded": 48, "layers_total": 48,
    "host_mib": 9000.0, "device_mib": 13000.0, "host_share": 0.41, "n_cpu_moe": 14,
}  # fmt: skip
LOG = b"load_tensors: offloaded 48/48 layers to GPU\n<b>not bold</b> **not bold either** [no](http://link)\nserver is listening\n"


@dataclass
class _Writer:
    """Numbers events and keeps time while a batch fills."""

    batch: Batch
    at: datetime
    prompt_n: int

    def event(self, kind: str, **body: Any) -> int:
        self.batch.last_seq += 1
        self.at += timedelta(seconds=5)
        self.batch.events.append({"seq": self.batch.last_seq, "kind": kind, "noted_at": self.at, "body": body})
        return self.batch.last_seq


def write_run(
    house: House,
    *,
    rates: dict[int, list[float]] | None = None,
    production: dict[int, list[float]] | None = None,
    production_c: int = 4,
    failed: dict[int, str] | None = None,
    state: str = DONE,
    drifted: bool = False,
    d_ms: float | None = 6.0,
    run_id: str | None = None,
    created_at: datetime = START,
    recipe: dict[str, Any] | None = None,
    gpus: dict[str, Any] | None = None,
    artifact_sha256: str = "ab" * 32,
    spec: dict[str, Any] | None = None,
    prompt_n: int = 64,
    **asked: Any,
) -> str:
    """A run of `state` with one warm-up (cold) and the given warm rates per n_max at c=1, and at `production_c` where given.

    `failed`: n_max → reason, an arm without one good repetition. `recipe`, `spec`: keys that differ from the usual one.
    `asked`: title, model, box_id, worksheet_id, workload_id. Returns the id.
    """
    run_id = run_id or secrets.token_hex(16)
    rates = RATES if rates is None else rates
    request = {
        "title": "MTP for the made model", "box_id": "this-machine", "engine_id": "embedded", "model": house.made_models[0],
        "workload_id": sorted(house.workloads)[0], "n_max": 3, "repetitions": 3, "production_c": production_c if production else 1,
        "context": 4096, "n_gpu_layers": None, "n_cpu_moe": 14, "worksheet_id": None, **asked,
    }  # fmt: skip
    house.store.runs.insert(
        {"run_id": run_id, "box_id": request["box_id"], "worksheet_id": request["worksheet_id"], "title": request["title"],
         "request": request, "requested_by": "Ada", "created_at": created_at, "state": "preparing"}
    )  # fmt: skip
    arms = [{"n_max": n, "c": c, "args": ["-m", "{model}", "-fit", "off"]} for n in range(4) for c in sorted({1, production_c})]
    usual = {"request": {"max_tokens": DECODE_TOKENS + 1}, "prompt_set_sha256": "ps" * 32, "asked": {"n_cpu_moe": 14}, "arms": arms}
    house.store.runs.set_spec(run_id, {**usual, **(spec or {})}, created_at)
    writer = _Writer(Batch(run_id, 1000, 0, "0" * 64), created_at, prompt_n)
    writer.event("run_started", run_id=run_id, hostname="scripted", pid=1)
    artifact = {"path": f"/models/{request['model']}.gguf", "size_bytes": 1 << 30, "sha256": artifact_sha256}
    writer.event("preflight", engine={"id": "embedded", "version_text": "version: 10473 (abc1234)"}, artifact=artifact,
                 gpus=gpus or {"state": "none", "why": "scripted", "list": []}, others_on_gpu="n/a", load_1m=0.1)  # fmt: skip
    plan = [(Stage(BASELINE if n == 0 else STEP, n, 1, 3), values) for n, values in sorted(rates.items())]
    plan += [(Stage(STEP, n, 1, 3), []) for n in sorted(failed or {})]
    plan += [(Stage(BASELINE_AGAIN, 0, 1, 3), [r * (0.9 if drifted else 1.0) for r in rates[0]])] if state == DONE and 0 in rates else []
    plan += [(Stage(PRODUCTION, n, production_c, 3), values) for n, values in sorted((production or {}).items(), reverse=True)]
    for number, (stage, values) in enumerate(plan, 1):
        _stage(writer, number, stage, values, (failed or {}).get(stage.n_max, ""), d_ms, recipe or {})
    stop = {"code": "no_gain", "text": "n_max=2 is not faster than n_max=1 beyond noise; longer drafts were not tried."}
    if state in (DONE, "failed", "cancelled"):
        outcome = {
            "code": "done" if state == DONE else "engine_died",
            "text": "The sweep is complete." if state == DONE else "The engine died.",
        }
        writer.event("run_finished", outcome=state, reason=outcome, winner=winner_of(rates), drifted=drifted, stop=stop, samples=0, left=[])
    house.store.runs.ingest(writer.batch)
    for server in writer.batch.servers:
        name = f"server-{server['server']}.log"
        kept = house.archive.keep(run_id, name, LOG)
        house.store.runs.add_raw_file({"run_id": run_id, "name": name, "sha256": kept.sha256, "bytes": kept.bytes,
                                       "stored_as": kept.stored_as, "noted_at": writer.at})  # fmt: skip
    house.store.runs.set_state(run_id, state=state, note="", ended_at=writer.at if state in (DONE, "failed", "cancelled", "lost") else None)
    return run_id


def _stage(writer: _Writer, number: int, stage: Stage, rates: list[float], reason: str, d_ms: float | None, more: dict[str, Any]) -> None:
    shown = {"kind": stage.kind, "n_max": stage.n_max, "c": stage.c, "repetitions": stage.repetitions, "name": stage.name}
    recipe = recipe_of(
        engine={"kind": "llama.cpp", "build": 10473, "commit": "abc1234"}, artifact_sha256="ab" * 32, placement=PLACEMENT,
        asked={"context": 4096, "n_cpu_moe": 14}, n_max=stage.n_max, slots=stage.c,
    )  # fmt: skip
    recipe |= more
    recipe_id = digest(recipe)
    argv = ["/opt/llama-server", "-m", "/models/made model.gguf", "-c", "4096", "--api-key", "***"]
    argv += ["--spec-draft-n-max", str(stage.n_max)] if stage.n_max else []
    writer.event("stage_started", stage=shown, server=number)
    writer.event("server_starting", server=number, n_max=stage.n_max, c=stage.c, argv=argv)
    writer.event("server_ready", server=number, load_s=2.0, log_bytes=len(LOG), n_max=stage.n_max, c=stage.c,
                 props={"total_slots": stage.c, "n_ctx": 4096, "chat_template_sha256": "te" * 32})  # fmt: skip
    writer.batch.recipes[recipe_id] = recipe
    writer.batch.servers.append({"server": number, "n_max": stage.n_max, "c": stage.c, "recipe_id": recipe_id, "argv": argv,
                                 "placement": PLACEMENT, "load_s": 2.0})  # fmt: skip
    cold = [rates[0] * 0.8] if rates else []
    for repetition, rate in enumerate([*cold, *rates] if rates else [None]):
        _sample(writer, shown, number, recipe_id, repetition, rate, reason, d_ms)
    good = [s for s in writer.batch.samples if s["server"] == number and s["counted"] and s["status"] == "ok"]
    writer.event("stage_done", stage=shown, status="ok" if rates else "failed", reason=reason, tok_s=rates,
                 drafted=sum(s["drafted"] or 0 for s in good), accepted=sum(s["accepted"] or 0 for s in good))  # fmt: skip
    writer.event("verdict", after=stage.name, winner=None, best_ratio=None, stop=None)


def _sample(
    writer: _Writer,
    stage: dict[str, Any],
    server: int,
    recipe_id: str,
    repetition: int,
    rate: float | None,
    reason: str,
    d_ms: float | None,
) -> None:
    n_max, c = stage["n_max"], stage["c"]
    tokens = DECODE_TOKENS * c
    accepted = round(tokens * ACCEPTED.get(n_max, 0.65)) if n_max else None
    steps = steps_taken(tokens + 1, accepted or 0)
    row = {
        "run_id": writer.batch.run_id, "server": server, "recipe_id": recipe_id, "stage": stage["name"], "n_max": n_max, "c": c,
        "repetition": repetition, "temperature": "warm" if repetition or rate is None else "cold",
        "counted": bool(repetition) and rate is not None,
        "kind": "real", "status": "failed" if rate is None else "ok", "reason": reason, "tok_per_s": rate,
        "client_tok_per_s": rate * 0.99 if rate and c == 1 else None, "ttft_ms": 81.4, "prefill_tok_per_s": 412.0, "wall_ms": 5000.0,
        "decode_tokens": tokens, "predicted_ms": 1000.0 * tokens / rate if rate else None, "prompt_n": writer.prompt_n, "prompt_ms": 155.0,
        "drafted": steps * n_max if n_max else None, "accepted": accepted, "steps": steps if n_max else None,
        "per_position": [0.9, 0.7, 0.5][:n_max] if n_max else None, "d_ms": d_ms if n_max and c == 1 else None,
        "prompt_ids": ["chat-01"], "text_sha256": ["cd" * 32], "provenance": "measured",
    }  # fmt: skip
    seq = writer.event("sample", stage=stage, server=server, n_max=n_max, c=c, repetition=repetition, temperature=row["temperature"],
                       counted=row["counted"], status=row["status"], reason=reason, tok_s=rate, drafted=row["drafted"],
                       accepted=accepted, streams=[_stream(row, slot) for slot in range(c)], gpu_memory_mib="n/a", throttle="n/a",
                       others_on_gpu="n/a", telemetry=[], host_load_1m=0.1, agent_cpu_ms=5.0, took_ms=5000.0)  # fmt: skip
    writer.batch.samples.append({**row, "seq": seq, "noted_at": writer.at})


def _stream(row: dict[str, Any], slot: int) -> dict[str, Any]:
    """One stream's answer: its share of the repetition's tokens, the client's clock within 1 %."""
    c, rate = row["c"], row["tok_per_s"]
    timings = {
        "predicted_n": DECODE_TOKENS + 1,
        "predicted_ms": 1000.0 * DECODE_TOKENS * c / (rate or 1.0),
        "prompt_n": row["prompt_n"],
        "prompt_ms": 155.0,
    }
    if row["n_max"]:
        timings |= {"draft_n": row["drafted"] // c, "draft_n_accepted": row["accepted"] // c}
    return {
        "timings": timings if rate else None, "client_tok_s": 0.99 * rate / c if rate else None, "cached_tokens": 0, "slot": slot,
        "ttft_ms": 81.4, "last_token_ms": 4990.0, "wall_ms": 5000.0, "events": DECODE_TOKENS + 1, "tokens_per_event": 1.0,
        "gap_ms": {"p50": 40.0, "p95": 45.0, "p99": 50.0, "max": 60.0},
    }  # fmt: skip
