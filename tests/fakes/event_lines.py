"""Writes a run's events as an agent would: numbered, linked, hashed. Rates and counts are the test's own."""

from __future__ import annotations

import json
from typing import Any

from core.domain.recipe import digest

LOAD_LOG = "load_tensors: offloaded 0/3 layers to GPU\nload_tensors:   CPU_Mapped model buffer size =   268.00 MiB\n"


class EventLines:
    """Collects lines; `take()` hands out what is new as bytes."""

    def __init__(self, run_id: str) -> None:
        self.run_id, self.seq, self.sha, self.samples = run_id, 0, "", 0
        self._fresh = b""

    def add(self, kind: str, **body: Any) -> dict[str, Any]:
        """One more event."""
        self.seq += 1
        self.samples += kind == "sample"
        event = {
            "seq": self.seq,
            "kind": kind,
            "wall": 1_795_000_000.0 + self.seq,
            "mono_ns": self.seq,
            "boot_id": "b",
            "prev": self.sha,
            **body,
        }
        event["sha"] = self.sha = digest(event)
        self._fresh += json.dumps(event).encode() + b"\n"
        return event

    def take(self) -> bytes:
        """Bytes of the events added since the last call."""
        fresh, self._fresh = self._fresh, b""
        return fresh

    def begin(self, *, sha256: str = "a" * 64, version: str = "version: 11549 (abcdef12)") -> None:
        """run_started and preflight."""
        self.add("run_started", run_id=self.run_id)
        engine, artifact = {"id": "embedded", "version_text": version}, {"path": "/m.gguf", "size_bytes": 1, "sha256": sha256}
        self.add("preflight", engine=engine, artifact=artifact, gpus={"state": "none"})

    def stage(self, name: str, kind: str, n_max: int, c: int, server: int, rates: list[float], **how: Any) -> None:
        """One whole stage: engine up, a cold repetition, counted warm ones at these rates (tok/s)."""
        stage = {"kind": kind, "n_max": n_max, "c": c, "repetitions": len(rates), "name": name}
        self.add("stage_started", stage=stage, server=server)
        self.add("server_starting", server=server, n_max=n_max, c=c, argv=["llama-server", "-m", "/m.gguf"])
        self.add("server_ready", server=server, load_s=0.2, log_bytes=len(LOAD_LOG), props={})
        for repetition, rate in enumerate([rates[0] * 0.8, *rates]):
            self.sample(stage, server, repetition, rate, **how)
        counts = [self.counts(n_max, rate)[1] for rate in rates]
        drafted = sum(c_["draft_n"] for c_ in counts if "draft_n" in c_)
        accepted = sum(c_["draft_n_accepted"] for c_ in counts if "draft_n" in c_)
        self.add("stage_done", stage=stage, status="ok", reason="", tok_s=rates, drafted=drafted, accepted=accepted)

    @staticmethod
    def counts(n_max: int, rate: float) -> tuple[int, dict[str, Any]]:
        """129 tokens; with drafts, as many steps as n_max + 1 tokens each allow."""
        timings: dict[str, Any] = {"prompt_n": 20, "prompt_ms": 10.0, "predicted_n": 129, "predicted_ms": 128_000.0 / rate}
        if n_max:
            steps = -(-128 // (n_max + 1))
            timings |= {"draft_n": steps * n_max, "draft_n_accepted": 128 - steps}
        return 129, timings

    def sample(
        self, stage: dict[str, Any], server: int, repetition: int, rate: float | None, *, status: str = "ok", reason: str = ""
    ) -> None:
        """One repetition; repetition 0 is the cold one."""
        _, timings = self.counts(stage["n_max"], rate or 1.0)
        stream = {"timings": timings if rate else None, "ttft_ms": 12.0, "wall_ms": 1000.0, "client_tok_s": rate, "text_sha256": "t" * 64}
        self.add(
            "sample",
            stage=stage,
            server=server,
            n_max=stage["n_max"],
            c=stage["c"],
            repetition=repetition,
            status=status,
            reason=reason,
            temperature="warm" if repetition else "cold",
            counted=bool(repetition),
            prompt_ids=["p"],
            streams=[stream] * stage["c"],
            tok_s=rate,
            metrics_before="",
            metrics_after="",
            statistics_line="",
            statistics_before="",
        )

    def end(self, outcome: str = "done", **body: Any) -> None:
        """run_finished."""
        reason = {"code": outcome, "text": body.pop("text", outcome)}
        counts = {"events": self.seq + 1, "samples": self.samples}
        verdict = {"winner": 1, "drifted": False, "stop": None, "left": []}
        self.add("run_finished", **{"outcome": outcome, "reason": reason, **verdict, **counts, **body})

    def whole_sweep(self, *, off: list[float], steps: dict[int, list[float]], production_c: int = 1) -> None:
        """A finished sweep with these rates."""
        self.begin()
        self.stage("baseline", "baseline", 0, 1, 1, off)
        for n, rates in steps.items():
            self.stage(f"n={n}", "step", n, 1, 1 + n, rates)
        self.stage("baseline again", "baseline-again", 0, 1, 20, off)
        if production_c > 1:
            self.stage(f"n=1 at c={production_c}", "production", 1, production_c, 21, steps[1])
            self.stage(f"off at c={production_c}", "production", 0, production_c, 22, off)
        self.end()

    def sweep_in_two(self) -> tuple[bytes, int]:
        """The bytes of a finished sweep, and where its first half ends, behind a whole line."""
        self.whole_sweep(off=[10.0, 10.1, 10.2], steps={1: [12.0, 12.1, 12.2], 2: [13.0, 13.1, 13.2]})
        whole = self.take()
        return whole, whole.index(b"\n", len(whole) // 2) + 1
