"""Whole sweeps by the packed agent against the scripted engine: decisions, ledger, every way a run can fail."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.agent_box import Box, arm, run_id_of

RISING = {"0": 100, "1": 140, "2": 170, "3": 200}
ONE_STAGE = {"plan": {"n_max": 1}}


def of(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["kind"] == kind]


def names(events: list[dict[str, Any]]) -> list[str]:
    return [event["stage"]["name"] for event in of(events, "stage_done")]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """One whole sweep that wins to the end, read by several tests."""
    found = Box(tmp_path_factory.mktemp("measured") / "box")
    found.script(speeds=RISING, noise=5000)
    found.sweep()
    yield found
    found.clear_up()


def test_drafts_that_win_are_climbed_to_the_longest(measured: Box) -> None:
    events = measured.events()
    end = events[-1]
    assert (end["outcome"], end["winner"], end["drifted"], end["stop"]["code"]) == ("done", 3, False, "n_max_reached")
    assert (end["reason"]["code"], end["left"], end["samples"]) == ("n_max_reached", [], 5 * 4)
    assert names(events) == ["baseline", "n=1", "n=2", "n=3", "baseline again"]
    assert [event["tok_s"] for event in of(events, "stage_done")][1] == pytest.approx([139.86, 139.72, 140.0])
    assert [v["winner"] for v in of(events, "verdict")] == [0, 1, 2, 3, 3]
    assert of(events, "verdict")[-1]["best_ratio"] == pytest.approx(2.0)
    measured.assert_clean()


def test_each_sample_says_what_was_sent_and_what_came_back(measured: Box) -> None:
    cold, *warm = [e for e in of(measured.events(), "sample") if e["n_max"] == 1]
    assert (cold["repetition"], cold["temperature"], cold["counted"], cold["prompt_ids"]) == (0, "cold", False, ["p3"])
    assert [(e["repetition"], e["attempt"], e["temperature"], e["counted"]) for e in warm] == [(r, 1, "warm", True) for r in (1, 2, 3)]
    assert [e["prompt_ids"] for e in warm] == [["p0"], ["p1"], ["p2"]]
    first = warm[0]
    assert (first["drafted"], first["accepted"], first["status"]) == (4, 3, "ok")
    assert "#gen tokens = 8" in first["statistics_line"]
    assert "#gen tokens = 4" in first["statistics_before"]
    assert "num_draft_tokens_total 4" in first["metrics_before"]
    assert "num_draft_tokens_total 8" in first["metrics_after"]
    (stream,) = first["streams"]
    assert (stream["http_status"], stream["events"], stream["cached_tokens"], stream["finish_reason"]) == (200, 9, 0, "length")
    assert stream["first_ns"] < stream["last_ns"]
    assert stream["timings"]["predicted_n"] == 9
    assert of(measured.events(), "stage_done")[1]["drafted"] == 12


def test_the_ledger_opens_with_where_and_what(measured: Box) -> None:
    events = measured.events()
    started, preflight = events[0], events[1]
    assert (started["kind"], started["run_id"], started["agent_sha256"]) == ("run_started", run_id_of(1), measured.sha)
    assert started["ancestors"][-1][0] == 1
    assert (preflight["kind"], preflight["artifact"]["size_bytes"]) == ("preflight", measured.model.stat().st_size)
    assert "version: 1234" in preflight["engine"]["version_text"]
    assert list(json.loads((measured.root / "hashes.json").read_text())) == [str(measured.model)]
    ready = of(events, "server_ready")[0]
    assert (ready["props"]["n_ctx"], ready["props"]["build_info"]) == (4096, "scripted-1")


def assert_key_is_kept(box: Box) -> None:
    for fact in box.facts():
        assert fact["argv"][fact["argv"].index("--host") + 1] == "127.0.0.1"
        assert len(fact["key"]) == 32
        for path in box.folder().iterdir():
            assert fact["key"].encode() not in path.read_bytes()


def test_the_engine_listens_on_loopback_and_its_key_stays_out_of_the_run(measured: Box) -> None:
    assert_key_is_kept(measured)
    assert all(fact["key"] in fact["argv"] for fact in measured.facts())
    assert "***" in of(measured.events(), "server_starting")[0]["argv"]


def test_an_engine_that_takes_its_key_from_the_environment_gets_it_there(box: Box) -> None:
    box.script(key_by_variable=True, die_after=0)
    events = box.sweep(**ONE_STAGE)
    assert_key_is_kept(box)
    assert [fact["key"] in fact["argv"] for fact in box.facts()] == [False]
    assert of(events, "server_ready")
    assert "***" not in of(events, "server_starting")[0]["argv"]


def test_files_of_a_run_are_private(measured: Box) -> None:
    for path in [*measured.folder().iterdir(), measured.root / "box.lock"]:
        if path.name != "spec.json":
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name


def test_a_mixture_that_loses_stops_at_one(box: Box) -> None:
    box.script(speeds={"0": 100, "1": 50})
    events = box.sweep(plan={"is_moe": True})
    end = events[-1]
    assert (end["winner"], end["stop"]["code"], names(events)) == (0, "no_gain", ["baseline", "n=1", "baseline again"])


def test_production_concurrency_is_measured_with_parallel_streams(box: Box) -> None:
    box.script(speeds={"0": 100, "1": 140})
    events = box.sweep(plan={"n_max": 1, "production_c": 3})
    assert list(dict.fromkeys(names(events)))[-2:] == ["n=1 at c=3", "off at c=3"]
    sample = next(e for e in of(events, "sample") if e["stage"]["name"] == "off at c=3" and e["repetition"] == 3)
    streams = sample["streams"]
    assert len(streams) == 3
    assert sample["prompt_ids"] == ["p2", "p3", "p0"]
    span = max(s["last_ns"] for s in streams) - min(s["first_ns"] for s in streams)
    assert sample["tok_s"] == pytest.approx(3 * 8 * 1e9 / span)


INVALID = {
    "timings are missing, negative or not numbers": [{"timings": "nan"}],
    "no timings": [{"timings": "missing"}, {"nonsense": True}],
    "8 tokens came, 9 were asked for": [{"short": 1}],
    "drafted although speculation was off": [{"draft_when_off": True}],
}


@pytest.mark.parametrize(("reason", "script"), [(reason, script) for reason, scripts in INVALID.items() for script in scripts])
def test_an_answer_that_cannot_be_counted_is_stored_and_tried_once_more(box: Box, reason: str, script: dict[str, Any]) -> None:
    box.script(**script)
    events = box.sweep(**ONE_STAGE)
    samples = of(events, "sample")
    assert [(e["repetition"], e["attempt"], e["status"], e["counted"]) for e in samples] == [
        (0, 1, "invalid", False),
        (1, 1, "invalid", False),
        (1, 2, "invalid", False),
    ]
    assert reason in samples[0]["reason"]
    assert (events[-1]["outcome"], events[-1]["reason"]["code"]) == ("failed", "answers_invalid")


def test_speculation_that_is_silently_off_ends_the_climb(box: Box) -> None:
    box.script(at={"1": {"no_draft": True}})
    events = box.sweep()
    assert (events[-1]["outcome"], events[-1]["stop"]["code"]) == ("done", "step_failed")
    assert "Nothing was drafted" in of(events, "stage_done")[1]["reason"]
    assert names(events) == ["baseline", "n=1", "baseline again"]


def test_an_error_status_is_a_failed_sample(box: Box) -> None:
    box.script(http=500)
    events = box.sweep(**ONE_STAGE)
    assert {e["status"] for e in of(events, "sample")} == {"failed"}
    assert "slot unavailable" in of(events, "sample")[0]["reason"]
    assert events[-1]["reason"]["code"] == "answers_invalid"


def test_a_request_without_end_is_given_up(box: Box) -> None:
    box.script(stall=True)
    events = box.sweep(plan={"n_max": 1}, limits={"request_s": 0.3})
    assert {e["status"] for e in of(events, "sample")} == {"failed"}
    assert "longer than its limit" in of(events, "sample")[0]["reason"]
    box.assert_clean()


def test_an_engine_that_dies_while_loading(box: Box) -> None:
    box.script(die_loading=True)
    events = box.sweep()
    assert (events[-1]["outcome"], events[-1]["reason"]["code"]) == ("failed", "load_failed")
    assert "failed to load model" in events[-1]["reason"]["text"]
    (gone,) = of(events, "server_exit")
    assert (gone["how"], gone["rc"], gone["signal"]) == ("died", 1, None)
    assert "failed to load model" in gone["log_tail"]
    assert b"failed to load model" in (box.folder() / "server-1.log").read_bytes()


def test_an_engine_that_is_never_healthy(box: Box) -> None:
    box.script(never_healthy=True)
    events = box.sweep(limits={"load_s": 0.5})
    assert (events[-1]["outcome"], events[-1]["reason"]["code"]) == ("failed", "load_timeout")
    box.assert_clean()


def test_an_engine_that_dies_in_a_baseline_ends_the_run(box: Box) -> None:
    box.script(die_after=2)
    events = box.sweep()
    assert (events[-1]["outcome"], events[-1]["reason"]["code"]) == ("failed", "engine_died")
    assert [e["status"] for e in of(events, "sample")] == ["ok", "ok", "failed"]
    (gone,) = of(events, "server_exit")
    assert (gone["how"], gone["signal"]) == ("died", 6)
    assert "bad_alloc" in gone["log_tail"]


def test_an_engine_that_dies_in_a_step_keeps_what_was_measured(box: Box) -> None:
    box.script(speeds=RISING, at={"2": {"die_after": 2}})
    events = box.sweep()
    assert names(events) == ["baseline", "n=1", "n=2", "baseline again"]
    failed = of(events, "stage_done")[2]
    assert (failed["status"], failed["code"], len(failed["tok_s"])) == ("failed", "engine_died", 1)
    assert (events[-1]["outcome"], events[-1]["winner"], events[-1]["stop"]["code"]) == ("done", 1, "step_failed")
    assert [e["server"] for e in of(events, "server_starting")] == [1, 2, 3, 4]


def test_a_run_that_takes_too_long_ends_itself(box: Box) -> None:
    box.script(stall=True)
    events = box.sweep(limits={"lifetime_s": 1.0})
    assert (events[-1]["outcome"], events[-1]["reason"]["code"]) == ("failed", "lifetime")
    box.assert_clean()


def test_an_engine_that_ignores_being_asked_leaves_nothing(box: Box) -> None:
    box.script(ignore_term=True, daemons=2)
    events = box.sweep(plan={"n_max": 1}, limits={"grace_s": 0.2})
    assert (events[-1]["outcome"], events[-1]["left"]) == ("done", [])
    assert {e["signal"] for e in of(events, "server_exit")} == {9}
    assert all(len(fact["daemons"]) == 2 for fact in box.facts())
    box.assert_clean()


def test_a_server_that_does_not_know_its_name_is_not_talked_to(box: Box) -> None:
    box.script(name="somebody-else")
    events = box.sweep(**ONE_STAGE)
    assert (events[-1]["outcome"], events[-1]["reason"]["code"]) == ("failed", "port")
    assert (len(of(events, "server_exit")), of(events, "sample")) == (3, [])
    box.assert_clean()


def arms_with(*args: str) -> list[dict[str, Any]]:
    arms = [arm(n, 1) for n in range(2)]
    arms[1]["args"] = [*arms[1]["args"], *args]
    return arms


REFUSED = {
    "flag_unknown": [{"arms": arms_with("--draft-max", "3")}],
    "flag_refused": [
        {"arms": arms_with("--host", "0.0.0.0")},
        {"arms": arms_with("--slot-save-path", "x")},
        {"arms": arms_with("-c", "-x y")},
    ],
    "model_missing": [{"model": {"name": "other"}}, {"arms": arms_with("-md", "{model:other}")}],
    "engine_missing": [{"engine": {"id": "other"}}],
}


@pytest.mark.parametrize(("code", "changes"), [(code, change) for code, changes in REFUSED.items() for change in changes])
def test_what_cannot_run_ends_before_an_engine_starts(box: Box, code: str, changes: dict[str, Any]) -> None:
    events = box.sweep(plan={"n_max": 1}, **changes)
    assert (events[-1]["outcome"], events[-1]["reason"]["code"]) == ("failed", code)
    assert of(events, "server_starting") == []
    assert box.facts() == []


def test_broken_and_missing_engines_and_models_are_named(box: Box) -> None:
    box.script(version_rc=3)
    assert box.sweep(1)[-1]["reason"]["code"] == "engine_broken"
    box.allow(engines=[box.engine(argv=["/nowhere/engine"])])
    assert box.sweep(2)[-1]["reason"]["code"] == "engine_missing"
    box.script()
    box.model.unlink()
    assert box.sweep(3)[-1]["reason"]["code"] == "model_missing"
    (box.root / "allow.json").write_text("{")
    assert box.sweep(4)[-1]["reason"]["code"] == "spec"


def fake_nvidia_smi(folder: Path, apps: str) -> None:
    path = folder / "nvidia-smi"
    path.write_text(f'#!{sys.executable}\nimport sys\nprint("GPU A, with comma, 24576, 550.1" if "gpu=" in sys.argv[1] else {apps!r})\n')
    path.chmod(0o700)


def test_a_gpu_in_use_by_a_stranger_refuses_the_run_unless_asked(box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_nvidia_smi(tmp_path, "1, python train.py, 8000")
    monkeypatch.setenv("PATH", str(tmp_path) + os.pathsep + os.environ["PATH"])
    assert box.sweep(1, **ONE_STAGE)[-1]["reason"]["code"] == "gpu_busy"
    events = box.sweep(2, plan={"n_max": 1}, allow_shared_gpu=True)
    assert events[-1]["outcome"] == "done"
    assert events[1]["gpus"]["list"] == [{"name": "GPU A, with comma", "memory_mib": 24576, "driver": "550.1"}]
    assert events[1]["others_on_gpu"] == [{"pid": 1, "uid": os.stat("/proc/1").st_uid, "name": "python train.py", "memory_mib": 8000}]
