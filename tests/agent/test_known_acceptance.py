"""Whole sweeps on the real engine at one and two streams: every count of every repetition equals what the made model must give."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import pytest

from core.agent.pricing import per_position
from core.embedded.models import ModelShape, make_model
from core.embedded.shape import FIRST_BYTE_ID
from core.embedded.walk import Walk, walk
from tests.agent.agent_box import Box
from tests.engine.conftest import SHAPES

LAUNCHER = Path(__file__).parents[2] / "core" / "embedded" / "launcher.py"
TOKENS = 129
TEXTS = ["count to z", "say it at 5", "end in !", "A", "or with x", "the next is 0", "why me?", "go on (please)", "and so on,"]
PROMPTS = [{"id": f"known-{at}", "text": text, "sha256": hashlib.sha256(text.encode()).hexdigest()} for at, text in enumerate(TEXTS)]
MODELS = ["dense-right", "dense-wrong-5", "moe-wrong-3", "moe-wrong-17"]


def sweep(box: Box, shape: ModelShape, folder: Path) -> list[dict[str, Any]]:
    model = make_model(shape, folder)
    box.allow(
        engines=[{"id": "scripted", "kind": "llama.cpp", "argv": [sys.executable, str(LAUNCHER)], "env": {}}],
        models=[],
        model_roots=[str(model.parent)],
    )
    request = {"route": "/v1/chat/completions", "max_tokens": TOKENS, "body": {"temperature": 0, "cache_prompt": False, "ignore_eos": True}}
    plan = {"n_max": 3, "production_c": 2, "is_moe": shape.is_moe, "max_repetitions": 3, "order": "block"}
    return box.sweep(plan=plan, model={"name": shape.name}, request=request, prompts=PROMPTS, limits={"lifetime_s": 140, "request_s": 60})


def walks_of(shape: ModelShape, sample: dict[str, Any]) -> list[Walk]:
    texts = {prompt["id"]: prompt["text"] for prompt in PROMPTS}
    ends = [FIRST_BYTE_ID + texts[known].encode()[-1] for known in sample["prompt_ids"]]
    return [walk(shape, n_max=sample["n_max"], prompt_end=end, length=TOKENS) for end in ends]


@pytest.mark.parametrize("name", MODELS)
def test_every_count_and_every_position_is_the_models_own(box: Box, tmp_path: Path, name: str) -> None:
    shape = SHAPES[name]
    events = sweep(box, shape, tmp_path / "models")
    samples = [event for event in events if event["kind"] == "sample"]
    assert {(event["status"], event["reason"]) for event in samples} == {("ok", "")}
    for sample in samples:
        assert_sample(sample, walks_of(shape, sample))
    stages = {event["stage"]["name"]: event for event in events if event["kind"] == "stage_done"}
    assert {"baseline", "n=1", "baseline again", "n=1 at c=2", "off at c=2"} <= stages.keys()
    for stage in (one for one in stages.values() if one["stage"]["n_max"] and one["stage"]["c"] == 1):
        mine = [item for item in samples if item["stage"]["name"] == stage["stage"]["name"] and item["counted"]]
        assert stage["per_position"] == pytest.approx(positions(shape, mine))
    end = events[-1]
    assert (end["outcome"], end["left"], end["samples"]) == ("done", [], len(samples))
    box.assert_clean()


def assert_sample(sample: dict[str, Any], walks: list[Walk]) -> None:
    """Each stream by itself, the sum over all, and the positions."""
    spoken = [(stream["timings"].get("draft_n", 0), stream["timings"].get("draft_n_accepted", 0)) for stream in sample["streams"]]
    assert spoken == [(each.drafted, each.accepted) for each in walks]
    assert [stream["text_sha256"] for stream in sample["streams"]] == [hashlib.sha256(each.text.encode()).hexdigest() for each in walks]
    if sample["n_max"]:
        assert (sample["drafted"], sample["accepted"]) == (sum(w.drafted for w in walks), sum(w.accepted for w in walks))
        drafts = sum(each.drafts for each in walks)
        counted = [sum(each.accepted_at[at] for each in walks) / drafts for at in range(sample["n_max"])]
        found = per_position([sample])
        assert found == pytest.approx(counted[: len(found)]) and not any(counted[len(found) :])


def positions(shape: ModelShape, samples: list[dict[str, Any]]) -> list[float]:
    walks = [each for sample in samples for each in walks_of(shape, sample)]
    return [sum(each.accepted_at[at] for each in walks) / sum(each.drafts for each in walks) for at in range(samples[0]["n_max"])]
