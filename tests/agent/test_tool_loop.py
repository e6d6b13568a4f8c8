"""Tool loops: several short requests of one client, one after another, with fixed histories; counts added up, each turn kept."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from core.agent.files import Refused
from core.agent.measure import asked_of, rate_of
from core.agent.spec import parse
from core.agent.turns import together
from core.embedded.models import make_model
from core.embedded.shape import FIRST_BYTE_ID
from core.embedded.walk import walk
from tests.agent.agent_box import Box, run_id_of
from tests.engine.conftest import SHAPES

LAUNCHER = Path(__file__).parents[2] / "core" / "embedded" / "launcher.py"
TOKENS = 33
LOOPS = [["find it", "search()", f"hit {at}", "open()", f"read {at}!"] for at in range(5)]


def prompt(at: int, turns: list[str]) -> dict[str, Any]:
    return {"id": f"loop-{at}", "turns": turns, "sha256": hashlib.sha256("\x1e".join(turns).encode()).hexdigest()}


PROMPTS = [prompt(at, turns) for at, turns in enumerate(LOOPS)]


def test_each_request_says_all_that_was_said_before():
    assert asked_of({"text": "", "turns": ["a", "b", "c"]}) == [["a"], ["a", "b", "c"]]
    assert asked_of({"text": "plain", "turns": []}) == [["plain"]]


def test_on_the_real_engine_every_turn_is_counted_and_added_up(box: Box, tmp_path: Path) -> None:
    shape = SHAPES["dense-wrong-5"]
    model = make_model(shape, tmp_path / "models")
    box.allow(
        engines=[{"id": "scripted", "kind": "llama.cpp", "argv": [sys.executable, str(LAUNCHER)], "env": {}}],
        models=[],
        model_roots=[str(model.parent)],
    )
    body = {"temperature": 0, "cache_prompt": False, "ignore_eos": True}
    request = {"route": "/v1/chat/completions", "max_tokens": TOKENS, "body": body}
    plan = {"n_max": 1, "production_c": 2, "max_repetitions": 3}
    events = box.sweep(plan=plan, model={"name": shape.name}, request=request, prompts=PROMPTS, limits={"lifetime_s": 140, "request_s": 60})
    samples = [event for event in events if event["kind"] == "sample"]
    assert {(event["status"], event["reason"]) for event in samples} == {("ok", "")}
    assert {len(stream["turns"]) for event in samples for stream in event["streams"]} == {3}
    for sample in samples:
        for known, stream in zip(sample["prompt_ids"], sample["streams"], strict=True):
            asked = LOOPS[int(known.split("-")[1])][::2]
            walks = [walk(shape, n_max=sample["n_max"], prompt_end=FIRST_BYTE_ID + ord(text[-1]), length=TOKENS) for text in asked]
            assert [turn["timings"].get("draft_n_accepted", 0) for turn in stream["turns"]] == [each.accepted for each in walks]
            assert stream["timings"]["predicted_n"] == 3 * (TOKENS - 1) + 1
            assert stream["timings"].get("draft_n", 0) == sum(each.drafted for each in walks)
            assert stream["ttft_ms"] == stream["turns"][0]["ttft_ms"] < stream["last_token_ms"] <= stream["wall_ms"]
    assert events[-1]["outcome"] == "done"
    box.assert_clean()


def test_a_turn_cut_short_spoils_the_repetition_and_is_kept(box: Box) -> None:
    box.script(short=2)
    events = box.sweep(plan={"n_max": 1}, prompts=PROMPTS)
    samples = [event for event in events if event["kind"] == "sample" and event["status"] != "ok"]
    assert len(samples) == 3, "the cold one, and the first warm one tried twice"
    assert {event["status"] for event in samples} == {"invalid"}
    assert all("tokens came, 9 were asked for" in event["reason"] for event in samples)
    assert all(len(stream["turns"]) == 3 for event in samples for stream in event["streams"])


def turn(first_ns: int, last_ns: int, **more: Any) -> dict[str, Any]:
    timings = {"prompt_n": 10, "prompt_ms": 5.0, "predicted_n": 5, "predicted_ms": 40.0, "draft_n": 4, "draft_n_accepted": 2}
    return {
        "timings": timings, "ttft_ms": 6.0, "wall_ms": 50.0, "last_token_ms": 47.0, "first_ns": first_ns, "last_ns": last_ns, "events": 3,
        "tokens_per_event": 5 / 3, "gap_ms": None, "client_tok_s": 100.0, "text_sha256": "ab", "finish_reason": "length", "error": None,
        "cached_tokens": 0, "slot": 0, "http_status": 200, "usage": None, **more,
    }  # fmt: skip


def test_sums_by_hand():
    two = [turn(0, 40_000_000), turn(60_000_000, 100_000_000)]
    found = together(two, [[0, 10_000_000, 40_000_000], [60_000_000, 80_000_000, 100_000_000]])
    assert found["timings"] == {
        "prompt_n": 20, "prompt_ms": 10.0, "predicted_ms": 80.0, "draft_n": 8, "draft_n_accepted": 4, "predicted_n": 9,
    }  # fmt: skip
    assert (found["wall_ms"], found["last_token_ms"], found["events"], found["slot"]) == (100.0, 97.0, 6, 0)
    assert found["client_tok_s"] == pytest.approx(8 / 0.080), "the wait between turns is no decode time"
    assert found["gap_ms"]["max"] == 30.0, "nor is it a gap between tokens"
    assert rate_of([found]) == pytest.approx(1000 * 8 / 80)


def test_a_loop_that_broke_off_has_no_timings():
    found = together([turn(0, 40_000_000), {**turn(0, 0), "timings": None, "error": "gone", "first_ns": None}], [[0, 1], []])
    assert (found["timings"], found["error"], found["client_tok_s"]) == (None, "gone", None)


@pytest.mark.parametrize("entry", [{"turns": ["a", "b"]}, {"turns": ["a"], "text": "b"}, {"turns": [1]}, {"turns": "abc"}, {}])
def test_odd_turns_are_refused(box: Box, entry: dict[str, Any]) -> None:
    spec = box.spec(prompts=[{"id": "x", **entry}])
    with pytest.raises(Refused):
        parse(json.dumps(spec).encode(), run_id_of(1))
