"""What an agent writes after a sweep: the forced pass and suite runs, in a test's own figures."""

from __future__ import annotations

from typing import Any

from tests.fakes.event_lines import LOAD_LOG, EventLines


def forced_point(lines: EventLines, n: int, word: str, server: int, step_ms: float) -> None:
    """One engine start with forced acceptance: cold, then three counted repetitions of this step cost."""
    stage = {"kind": f"forced-{word}", "n_max": n, "c": 1, "repetitions": 3, "name": f"n={n}, {word} accepted"}
    _start(lines, stage, server, purpose="forced", synthetic=word)
    steps = -(-128 // (n + 1)) if word == "all" else 128
    timings = {"prompt_n": 20, "prompt_ms": 10.0, "predicted_n": 129, "predicted_ms": steps * step_ms,
               "draft_n": steps * n, "draft_n_accepted": 128 - steps}  # fmt: skip
    stream = {"timings": timings, "ttft_ms": 12.0, "wall_ms": 1000.0, "client_tok_s": 1.0, "text_sha256": "t" * 64}
    for repetition in range(4):
        lines.add(
            "sample", stage=stage, server=server, n_max=n, c=1, repetition=repetition, status="ok", reason="", synthetic=word,
            temperature="warm" if repetition else "cold", counted=bool(repetition), prompt_ids=["p"], streams=[stream],
            tok_s=128_000.0 / (steps * step_ms), metrics_before="", metrics_after="", statistics_line="", statistics_before="",
        )  # fmt: skip
    _done(lines, stage)


def forced_fit(lines: EventLines, **step_ms: tuple[float, float]) -> None:
    """The fit of the given points: n1=(none, all) …"""
    found = [
        {"n_max": int(key[1:]), "a_none": 1.0, "none_ms": none, "a_all": int(key[1:]) + 1.0, "all_ms": full, "d_ms": None}
        for key, (none, full) in step_ms.items()
    ]
    lines.add("forced_fit", lines=found, across=None)


def suite_side(
    lines: EventLines, n: int, c: int, server: int, results: list[tuple[str, float | None]], *, suite: str = "tool-calls"
) -> None:
    """One engine start with suite runs: (status, score) each."""
    arm = "off" if n == 0 else f"n={n}"
    stage = {"kind": "suite", "n_max": n, "c": c, "repetitions": len(results), "name": f"suites, {arm}"}
    _start(lines, stage, server, purpose="suite")
    for run, (status, score) in enumerate(results, 1):
        reason = "" if status == "ok" else "It was not done after 9 s and was ended."
        lines.add(
            "suite_run", suite=suite, n_max=n, c=c, server=server, run=run, status=status, reason=reason, score=score,
            exit_code=0 if status == "ok" else None, took_s=1.0, output="<b>said</b>", errors="", output_bytes=11, errors_bytes=0,
        )  # fmt: skip
    _done(lines, stage, status="ok" if all(status == "ok" for status, _ in results) else "failed")


def _start(lines: EventLines, stage: dict[str, Any], server: int, **purpose: str) -> None:
    lines.add("stage_started", stage=stage, server=server)
    argv = ["llama-server", "-m", "/m.gguf", *(["--spec-synth-rates", "1"] if "synthetic" in purpose else [])]
    lines.add("server_starting", server=server, n_max=stage["n_max"], c=stage["c"], argv=argv, **purpose)
    lines.add("server_ready", server=server, load_s=0.2, log_bytes=len(LOAD_LOG), props={})


def _done(lines: EventLines, stage: dict[str, Any], status: str = "ok") -> None:
    lines.add("stage_done", stage=stage, status=status, reason="", tok_s=[], drafted=None, accepted=None)
