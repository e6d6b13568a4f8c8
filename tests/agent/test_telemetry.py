"""What is recorded of the box while it is measured: real nvidia-smi stand-ins on PATH, the packed agent, the scripted engine."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import pytest

from core.agent import telemetry
from core.agent.client import Door, Stream
from core.agent.during import MOST_ROWS, box_facts
from core.agent.measure import name_slots
from tests.agent.agent_box import Box
from tests.agent.test_agent_sweep import of
from tests.fakes.nvidia_smi import calls, install

ONE = {"plan": {"n_max": 1}}


def measured(box: Box, **changes: Any) -> list[dict[str, Any]]:
    events = box.sweep(**{**ONE, **changes})
    assert events[-1]["outcome"] == "done"
    return of(events, "sample")


def lines_of(box: Box) -> list[dict[str, str]]:
    return list(csv.DictReader((box.folder() / "telemetry.csv").read_text().splitlines()))


def test_every_repetition_carries_memory_clock_power_and_heat(box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, rows=[[9000, 1980, 350.5, 61], [100, 300, 20, 40]], facts=str(box.facts_path))
    box.script(at={"1": {"die_loading": True}}, pace_s=0.15)
    samples = measured(box)
    assert {tuple(sorted(s["gpu_memory_mib"].items())) for s in samples} == {(("after", 9100.0), ("before", 9100.0), ("during", 9100.0))}
    assert {tuple(s["throttle"]) for s in samples} == {()}, "an idle GPU is not throttled"
    assert [s["others_on_gpu"] for s in samples] == [[]] * len(samples), "the engine itself is nobody else"
    rows = samples[0]["telemetry"]
    assert {row["moment"] for row in rows} == {"before", "during", "after"}
    assert {(row["gpu"], row["sm_mhz"], row["power_w"], row["temp_c"]) for row in rows} == {(0, 1980, 350.5, 61), (1, 300, 20, 40)}
    assert rows[0]["at_s"] < 0 < rows[-1]["at_s"] and all(row["engine_rss_mib"] > 1 for row in rows)
    lines = lines_of(box)
    assert tuple(lines[0]) == telemetry.COLUMNS
    assert {line["gpu"] for line in lines} == {"0", "1"} and {line["throttle"] for line in lines} == {"none"}
    assert len(lines) >= 2 * 3 * len(samples)
    assert all(0 < s["agent_cpu_ms"] < s["took_ms"] for s in samples)


def test_heat_and_a_stranger_are_tied_to_the_repetition_they_hit(box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hot = str(tmp_path / "hot")
    stranger = f"{os.getpid()}, python train.py, 8000"
    install(tmp_path, monkeypatch, hot_file=hot, moving=900, old=True, apps_file=hot, apps=[stranger], facts=str(box.facts_path))
    box.script(speeds={"0": 100, "1": 140}, pace_s=0.15, at={"1": {"touch": {"path": hot, "requests": [2], "hold_s": 1.4}}})
    samples = measured(box)
    hit = [(s["stage"]["name"], s["repetition"], s["throttle"]) for s in samples if s["throttle"]]
    assert hit == [("n=1", 2, ["hardware thermal"])]
    memory = {(s["stage"]["name"], s["repetition"]): s["gpu_memory_mib"] for s in samples}
    assert memory[("n=1", 2)] == {"before": 9000.0, "during": 9900.0, "after": 9000.0}
    assert memory[("n=1", 1)] == {"before": 9000.0, "during": 9000.0, "after": 9000.0}
    others = {(s["stage"]["name"], s["repetition"]): s["others_on_gpu"] for s in samples if s["others_on_gpu"]}
    assert [(key, [one["name"] for one in found]) for key, found in others.items()] == [(("n=1", 2), ["python train.py"])]
    refused = [line for line in calls(tmp_path) if "clocks_event_reasons" in line]
    assert len(refused) == 1, "the spelling that this driver knows is asked once"


@pytest.mark.parametrize(("trouble", "why"), [("hang", "no answer within 2 s"), ("garbage", "no row"), ("rc", "exit code 15")])
def test_a_tool_that_breaks_during_the_run_leaves_blanks_and_not_zeros(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: str, why: str
) -> None:
    install(tmp_path, monkeypatch, **{"break": trouble, "breaks_after": 5})
    box.script(speeds={"0": 100, "1": 140}, pace_s=0.05)
    samples = measured(box)
    last = samples[-1]
    assert (last["status"], last["gpu_memory_mib"], last["throttle"], last["others_on_gpu"]) == ("ok", None, None, None)
    assert {row["used_mib"] for row in last["telemetry"]} == {None}
    last_line = lines_of(box)[-1]
    assert (last_line["used_mib"], last_line["state"]) == ("", "present") and why in last_line["why"]
    assert len(calls(tmp_path)) < 12, "a tool that does not answer is not asked again and again"


def test_fields_the_driver_does_not_know_are_blank_each_by_itself() -> None:
    assert telemetry.gpu_of("1, 9000, [N/A], [Not Supported], 61, [N/A]") == {
        "gpu": 1, "used_mib": 9000.0, "sm_mhz": None, "power_w": None, "temp_c": 61.0, "throttle": None,
    }  # fmt: skip
    assert telemetry.gpu_of("0, 1, 2, 3, 4, 0x00000000000000ac")["throttle"] == [
        "power cap",
        "hardware slowdown",
        "software thermal",
        "power brake",
    ]
    for rubbish in ("", "x, 1, 2, 3, 4, 0x0", "0, 1, 2", "0, -1, nan, inf, 1e99, Not Active"):
        found = telemetry.gpu_of(rubbish)
        assert found is None or {found[name] for name in ("used_mib", "sm_mhz", "power_w", "temp_c", "throttle")} == {None}


def test_without_a_gpu_its_fields_are_not_applicable(box: Box) -> None:
    samples = measured(box)
    assert {(s["gpu_memory_mib"], s["throttle"], s["others_on_gpu"]) for s in samples} == {("n/a", "n/a", "n/a")}
    line = lines_of(box)[0]
    assert (line["gpu"], line["used_mib"], line["state"]) == ("n/a", "n/a", "none") and float(line["host_load_1m"]) >= 0
    assert samples[0]["telemetry"][0]["engine_rss_mib"] > 1


def test_each_stream_is_clocked_by_the_client(box: Box) -> None:
    box.script(speeds={"0": 100, "1": 140}, pace_s=0.09)
    stream = measured(box)[1]["streams"][0]
    assert 0 < stream["gap_ms"]["p50"] <= stream["gap_ms"]["p95"] <= stream["gap_ms"]["p99"] <= stream["gap_ms"]["max"]
    assert stream["ttft_ms"] < stream["last_token_ms"] <= stream["wall_ms"]
    assert (stream["events"], stream["tokens_per_event"]) == (9, 1.0)


def test_slots_come_from_the_reply_or_from_the_log_by_their_counts(box: Box) -> None:
    box.script(speeds={"0": 100, "1": 140}, at={"1": {"bad_slot": {"slot": 1, "accept": 0.25}, "pace_s": 0.1}})
    samples = measured(box, plan={"n_max": 1, "production_c": 3, "max_repetitions": 3})
    for sample in [s for s in samples if s["n_max"] == 1 and s["c"] == 3]:
        accepted = {stream["slot"]: stream["timings"]["draft_n_accepted"] for stream in sample["streams"]}
        assert accepted == {0: 3, 1: 1, 2: 3}
    answers = [
        {"slot": 5, "timings": {"draft_n": 4, "draft_n_accepted": 3}},
        {"slot": None, "timings": {"draft_n": 9, "draft_n_accepted": 3}},
    ]
    name_slots(answers, "slot print_timing: id  0 | task 1 | draft acceptance rate = 0.75000 (    3 accepted /     4 generated)")
    assert [answer["slot"] for answer in answers] == [5, None]


def reading(began: int, mib: float | None, **more: Any) -> dict[str, Any]:
    gpu = {"gpu": 0, "used_mib": mib, "sm_mhz": 1, "power_w": 1, "temp_c": 1, "throttle": None}
    return {"wall": 0.0, "began_ns": began, "ended_ns": began + 1, "state": "present", "gpus": [gpu], "others": None, "why": "",
            "host_load_1m": 0.1, "engine_rss_mib": None, **more}  # fmt: skip


def test_a_long_repetition_keeps_fewer_rows_and_the_farthest_memory() -> None:
    inside = [reading(i, 9000.0 if i != 777 else 9700.0) for i in range(1000)]
    found = box_facts(reading(-1, 9000.0), inside, reading(1001, 9001.0), 0)
    assert found["gpu_memory_mib"] == {"before": 9000.0, "during": 9700.0, "after": 9001.0}
    assert 100 < len(found["telemetry"]) <= MOST_ROWS + 1
    assert (found["telemetry"][0]["moment"], found["telemetry"][-1]["moment"]) == ("before", "after")
    assert box_facts(reading(-1, 1.0), [], reading(3, 1.0), 0)["gpu_memory_mib"] is None, "nothing during: not recorded"
    assert box_facts(None, [], None, 0) == {"gpu_memory_mib": None, "throttle": None, "others_on_gpu": None, "telemetry": []}


def test_processes_of_another_space_are_neither_ours_nor_strangers() -> None:
    unseen = {"pid": 4_190_000, "name": "[Not Found]"}
    assert telemetry.strangers([unseen]) is None
    assert telemetry.strangers([unseen, {"pid": 1, "name": "init"}]) == [{"pid": 1, "name": "init"}]
    assert telemetry.strangers([{"pid": os.getpid(), "name": "me"}]) == [] == telemetry.strangers([])
    assert telemetry.strangers(None) is None and telemetry.strangers("n/a") is None


def test_nobody_listening_is_a_failed_request() -> None:
    stream = Stream(Door(1, "k"), "/v1/chat/completions", {})
    assert stream.open() is None
    stream.close()
    assert "ConnectionRefusedError" in stream.answer["error"] and stream.answer["http_status"] is None
