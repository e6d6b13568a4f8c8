"""The packed agent against llama.cpp's own server: a small made model whose accept counts are known beforehand."""

from __future__ import annotations

import sys
from pathlib import Path

from core.embedded.models import ModelShape, make_model
from tests.agent.agent_box import Box, arm

LAUNCHER = Path(__file__).parents[2] / "core" / "embedded" / "launcher.py"
TOKENS = 33


def test_a_sweep_on_the_embedded_engine(box: Box, tmp_path: Path) -> None:
    model = make_model(ModelShape(name="made-tiny", title="Made for a test"), tmp_path / "models")
    box.allow(
        engines=[{"id": "scripted", "kind": "llama.cpp", "argv": [sys.executable, str(LAUNCHER)], "env": {}}],
        models=[],
        model_roots=[str(model.parent)],
    )
    (facts,) = box.verb("probe")["models"]
    assert (facts["header"]["architecture"], facts["header"]["nextn_predict_layers"], facts["error"]) == ("glm4moe", 1, "")
    body = {"temperature": 0, "cache_prompt": False, "ignore_eos": True}
    request = {"route": "/v1/chat/completions", "max_tokens": TOKENS, "body": body}
    points = [
        {"n_max": 1, "point": word, "args": [*arm(1, 1)["args"], "--spec-synth-rates", rate]}
        for word, rate in (("all", "1"), ("none", "0"))
    ]
    events = box.sweep(plan={"n_max": 1, "production_c": 2}, model={"name": "made-tiny"}, request=request, forced=points)
    forced = [e for e in events if e["kind"] == "sample" and e.get("synthetic")]
    samples = [e for e in events if e["kind"] == "sample" and not e.get("synthetic")]
    assert [(e["status"], e["reason"]) for e in forced if e["status"] != "ok"] == []
    assert {(e["synthetic"], e["drafted"], e["accepted"]) for e in forced} == {
        ("all", TOKENS // 2, TOKENS // 2),
        ("none", TOKENS - 2, 0),
    }, "the last step has no room for a draft"
    (line,) = next(e["lines"] for e in events if e["kind"] == "forced_fit")
    assert (line["n_max"], line["a_none"], line["a_all"]) == (1, 1.0, 2.0) and line["none_ms"] > 0 < line["all_ms"] and line["d_ms"] > 0
    assert [(e["status"], e["reason"]) for e in samples if e["status"] != "ok"] == []
    assert {s["timings"]["predicted_n"] for e in samples for s in e["streams"]} == {TOKENS}
    assert {e["drafted"] for e in samples if e["n_max"] == 0} <= {None, 0}
    single = [e for e in samples if e["n_max"] == 1 and e["c"] == 1]
    assert {e["drafted"] for e in single} == {e["accepted"] for e in single} == {TOKENS // 2}  # the head is always right
    assert all("draft-mtp:" in e["statistics_line"] and "spec_decode" in e["metrics_after"] for e in single)
    end = events[-1]
    assert (end["outcome"], end["left"], end["samples"]) == ("done", [], len(samples) + len(forced))
    assert {e["how"] for e in events if e["kind"] == "server_exit"} == {"asked"}
    assert [e["props"]["total_slots"] for e in events if e["kind"] == "server_ready"][-3] == 2
    box.assert_clean()
