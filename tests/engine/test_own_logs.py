"""The embedded engine's real log and counters, read to the counts that the made model must give."""

from __future__ import annotations

import json

import pytest

from core.domain.imported import cells_of
from core.embedded.walk import Walk, walk
from core.formats.reader import read
from tests.engine.conftest import SHAPES, Engine, Launch, Make

RUNS = [("dense-right", 2, 129), ("dense-wrong-5", 3, 131), ("dense-wrong-1", 2, 65), ("moe-wrong-3", 1, 97), ("moe-wrong-17", 7, 150)]
MESSAGES = ("one", "and two", "three!")


def served(launch: Launch, made: Make, name: str, n_max: int, length: int) -> tuple[Engine, list[Walk], list[dict[str, object]]]:
    """An engine at log level 4 that has answered three requests; what each must count, and each reply's timings."""
    drafting = ["--spec-type", "draft-mtp", "--spec-draft-n-max", str(n_max)] if n_max else []
    engine = launch("-m", str(made(name)), "-c", "1024", "-np", "1", "-lv", "4", "--metrics", *drafting)
    walks, timings = [], []
    for message in MESSAGES:
        walks.append(walk(SHAPES[name], n_max=n_max, prompt_end=engine.prompt_end(message), length=length))
        timings.append(engine.chat(message, length).body["timings"])
    engine.await_log("#calls(b,g,a) =    3 " if n_max else "task")
    return engine, walks, timings


def rates(walks: list[Walk], n_max: int) -> list[float]:
    drafts = sum(each.drafts for each in walks)
    return [sum(each.accepted_at[at] for each in walks) / drafts for at in range(n_max)]


@pytest.mark.parametrize(("name", "n_max", "length"), RUNS)
def test_the_log_is_read_to_the_walk_s_counts(launch: Launch, made: Make, name: str, n_max: int, length: int) -> None:
    engine, walks, timings = served(launch, made, name, n_max, length)
    found = read(engine.log_file.read_bytes())
    drafted, accepted, steps, drafts = (sum(getattr(each, key) for each in walks) for key in ("drafted", "accepted", "steps", "drafts"))
    values = found.values
    assert found.kind == "load_log" and found.warnings == []
    assert (values["drafted"], values["accepted"], values["steps"], values["requests"]) == (drafted, accepted, steps, 3)
    assert values["predicted_n"] == 3 * length
    assert values["a"] == pytest.approx((3 * length - 3) / steps, abs=1e-6) and values["accept_share"] == pytest.approx(
        accepted / drafted, abs=1e-6
    )
    printed = pytest.approx(rates(walks, n_max), abs=0.00051) if accepted else None
    assert values["per_pos"] == printed, "three digits, and an empty list where nothing was ever accepted"
    assert values["mean_len"] == pytest.approx(1 + accepted / drafts, abs=0.0051)
    spent = sum(float(str(one["predicted_ms"])) for one in timings)
    assert values["predicted_ms"] == pytest.approx(spent, abs=0.016) and values["step_ms"] == pytest.approx(spent / steps, abs=0.001)
    assert 0 < values["D_ms"] < values["step_ms"] and values["D_ms"] + values["V_ms"] == pytest.approx(values["step_ms"], abs=1e-5)
    assert (values["spec_type"], values["n_max"], values["n_slots"], values["n_ctx"], values["status"]) == (
        "draft-mtp",
        n_max,
        1,
        1024,
        "loaded",
    )
    server = read(engine.log_file.read_bytes(), kind="server_log").values
    assert (server["drafted"], server["accepted"], server["steps"], server["drafts"]) == (drafted, accepted, steps, drafts)
    assert server["since_start_accepted"] == accepted and server["n_max_inferred"] in (n_max, None)


@pytest.mark.parametrize("name", ["dense-right", "moe-wrong-3"])
def test_placement_is_host_only_with_its_buffers(launch: Launch, made: Make, name: str) -> None:
    engine, _, _ = served(launch, made, name, 2, 33)
    values = read(engine.log_file.read_bytes()).values
    assert values["host_only"] is True and values["spilled"] is True and values["device_mib"] == {}
    assert values["kv_mib"] == pytest.approx(sum(values["kv_block_mib"])) and values["kv_mib"] > 0
    assert set(values["compute_mib"]) == {"CPU"} and values["compute_mib"]["CPU"] == pytest.approx(sum(values["compute_block_mib"]))
    held = values["host_mib"] if values["host_mib"] is not None else values["host_mib_max"]
    assert held == pytest.approx(made(name).stat().st_size / (1 << 20), rel=0.05)


@pytest.mark.parametrize(("name", "n_max", "length"), RUNS[:3])
def test_counters_as_a_difference_are_read_to_the_walk_s_counts(launch: Launch, made: Make, name: str, n_max: int, length: int) -> None:
    engine = launch(
        "-m", str(made(name)), "-c", "1024", "-lv", "4", "--metrics", "--spec-type", "draft-mtp", "--spec-draft-n-max", str(n_max)
    )
    engine.chat("before the measuring", 20)
    before = engine.ask("/metrics").text.encode()
    expected = walk(SHAPES[name], n_max=n_max, prompt_end=engine.prompt_end("measured"), length=length)
    engine.chat("measured", length)
    found = read(engine.ask("/metrics").text.encode(), companion=before)
    values = found.values
    assert found.kind == "metrics" and found.warnings == []
    assert (values["drafted"], values["accepted"], values["drafts"]) == (expected.drafted, expected.accepted, expected.drafts)
    assert list(values["accepted_per_pos"].values())[:n_max] == list(expected.accepted_at[: len(values["accepted_per_pos"])])
    assert values["per_pos"] == pytest.approx(
        [count / expected.drafts for count in expected.accepted_at][: len(values["per_pos"])], abs=1e-6
    )
    assert values["predicted_n"] == length


def test_without_drafts_the_log_is_a_baseline(launch: Launch, made: Make) -> None:
    engine, _, timings = served(launch, made, "dense-right", 0, 65)
    engine.await_log("total time", times=3)
    values = read(engine.log_file.read_bytes()).values
    assert (values["drafted"], values["accepted"], values["per_pos"] if "per_pos" in values else None) == (None, None, None)
    (cell,) = cells_of("load_log", values)
    spent = sum(float(str(one["predicted_ms"])) for one in timings)
    assert (cell["n_max"], cell["c"], cell["model"]) == (0, 1, "dense-right")
    assert cell["tok_per_s"] == pytest.approx(1000 * 192 / spent, rel=1e-3)


def test_a_reply_s_timings_are_read_to_the_walk_s_counts(launch: Launch, made: Make) -> None:
    engine, walks, timings = served(launch, made, "dense-wrong-5", 3, 131)
    found = read(json.dumps({"timings": timings[-1]}).encode())
    assert found.kind == "timings_json"
    assert (found.values["drafted"], found.values["accepted"], found.values["steps"]) == (
        walks[-1].drafted,
        walks[-1].accepted,
        walks[-1].steps,
    )
