"""Everything that can make a figure worthless ends in a stored cell that says why: the real agent, a scripted engine, the real store."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core.bootstrap import build
from core.config import Settings
from core.domain.box import THIS_MACHINE, Box, Engine, ModelFile
from core.domain.run import FINAL, new_run_id
from core.embedded.models import ModelShape, make_model
from core.services import runs
from core.services.cell_gates import gates_of_run
from core.services.follow import follow_once
from core.services.house import House
from core.services.matrix import matrix_rows
from core.services.receipts import receipt
from core.services.repetitions import repetitions_of
from core.services.worksheets import propose, show_worksheet
from tests.fakes.nvidia_smi import install

ENGINE = Path(__file__).parents[1] / "fakes" / "scripted_engine.py"
REQUEST = {"title": "t", "box_id": THIS_MACHINE, "engine_id": "scripted", "model": "made-tiny", "workload_id": "chat-short", "n_max": 1,
           "repetitions": 3, "order": "block"}  # fmt: skip
HONEST = {"honest": True, "pace_s": 0.26, "at": {"1": {"pace_s": 0.13}}}
ON_GPU = ["load_tensors: offloaded 3/3 layers to GPU", "load_tensors:        CUDA0 model buffer size =   268.00 MiB"]
MOVED = ["load_tensors: offloaded 2/3 layers to GPU", "load_tensors:   CPU_Mapped model buffer size =    90.00 MiB",
         "load_tensors:        CUDA0 model buffer size =   178.00 MiB"]  # fmt: skip
Sweep = Callable[..., str]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(ModelShape(name="made-tiny", title="for a test"), tmp_path_factory.mktemp("models"))


@pytest.fixture
def house(tmp_path: Path, model: Path) -> Iterator[House]:
    services = build(Settings(db=tmp_path / "t.duckdb", local_dir=tmp_path / "local", grace_s=0.3))
    box = Box(box_id=THIS_MACHINE, name="this machine", kind="local", python=[sys.executable],
              engines=[Engine(id="scripted", argv=[sys.executable, "-I", "-S", str(tmp_path / "engine.py")])],
              models=[ModelFile(name="made-tiny", path=str(model))])  # fmt: skip
    services.house.store.boxes.put(box, who="test", at=services.house.clock.now())
    yield services.house
    services.database.close()
    services.jobs.close()


@pytest.fixture
def sweep(house: House, tmp_path: Path) -> Sweep:
    def go(asked: dict[str, Any] | None = None, **script: Any) -> str:
        # commands on a box see a clean environment, so the script of the engine travels in a file
        told = f"import os, sys\nos.environ['SCRIPTED_ENGINE'] = {json.dumps({**HONEST, **script})!r}\n"
        start = f"os.execv(sys.executable, [sys.executable, '-I', '-S', {str(ENGINE)!r}, *sys.argv[1:]])\n"
        (tmp_path / "engine.py").write_text(told + start)
        run_id = new_run_id()
        runs.start_run(house, run_id, {**REQUEST, **(asked or {})}, who="Ada")
        deadline = time.monotonic() + 90
        while runs.get_run(house, run_id)["state"] not in FINAL:
            assert time.monotonic() < deadline, "the run never ended"
            follow_once(house, run_id)
            time.sleep(0.1)
        return run_id

    return go


def failing(house: House, run_id: str, n_max: int = 1, c: int = 1) -> dict[str, str]:
    """Conditions of one cell that fail, with their reasons; what other doors say about the cell agrees."""
    gate = gates_of_run(house, run_id)[(n_max, c)]
    found = {one["name"]: one["reason"] for one in gate["conditions"] if one["state"] == "fail"}
    row = next(row for row in matrix_rows(house, provenance="measured") if row["run_id"] == run_id and row["c"] == c)
    cell = row["cells"]["off" if n_max == 0 else str(n_max)]
    assert cell["gate"] == gate == receipt(house, f"{run_id}-{n_max}-{c}")["gate"]
    assert gate["usable"] is False and cell["status"] in ("invalid", "failed") and cell["verdict"] is None and cell["why"]
    stage = next(one for one in runs.show_run(house, run_id)["stages"] if (one["n_max"], one["c"]) == (n_max, c))
    assert stage["gate"] == gate
    return found


def test_a_quiet_box_passes_every_condition_and_its_worksheet_gate(house: House, sweep: Sweep) -> None:
    asked = {key: value for key, value in REQUEST.items() if key not in ("order",)}
    worksheet = propose(house, asked, who="Ada")
    run_id = sweep({"worksheet_id": worksheet})
    gates = gates_of_run(house, run_id)
    assert set(gates) == {(0, 1), (1, 1)}
    assert {
        (name["name"], name["state"]) for gate in gates.values() for name in gate["conditions"] if name["state"] not in ("pass", "n/a")
    } == set()
    assert all(gate["usable"] and gate["residuals"]["books"] < 0.03 for gate in gates.values())
    assert [one["state"] for one in show_worksheet(house, worksheet)["gates"] if one["name"] == "cell_gate"] == ["pass"]
    cold, *warm = repetitions_of(house, run_id, 1, 1)
    assert (cold["temperature"], len(warm)) == ("cold", 3)
    for row in warm:
        assert row["client_tok_s"] == pytest.approx(row["engine_tok_s"], rel=0.03)
        assert row["steps"] == 128 - row["accepted"] and row["v_ms"] == pytest.approx(row["step_ms"] - row["d_ms"])
        assert (row["gpu_memory_mib"], row["throttle"], row["others_on_gpu"]) == ("n/a", "n/a", "n/a")
        assert row["slots"][0]["slot"] == 0 and row["reject_cost_ms"] >= 0 and row["gap_ms"]["p99"] > 0
        assert row["last_token_ms"] > row["ttft_ms"]
    stored = house.store.cells.telemetry(run_id)
    assert {row["seq"] for row in stored} == {row["seq"] for n in (0, 1) for row in repetitions_of(house, run_id, n, 1)}
    assert {(row["gpu"], row["used_mib"], row["throttle"]) for row in stored} == {(None, None, None)}
    kept = house.store.cells.gates("other-rules", [run_id])
    assert kept == {} and gates_of_run(house, run_id) == gates


@pytest.mark.parametrize(("script", "name", "words"), [
    ({"at": {"1": {"no_draft": True}}}, "drafted", "no count of drafted"),
    ({"at": {"1": {"short": 40}}}, "finished", "other than the 129 tokens"),
    ({"at": {"1": {"cached": 12}}}, "not_cached", "prompt tokens came from a cache"),
    ({"at": {"1": {"nonsense": True}}}, "", "no timings"),
])  # fmt: skip
def test_an_arm_whose_answers_cannot_be_counted_is_a_cell_with_its_reason(
    house: House, sweep: Sweep, script: dict[str, Any], name: str, words: str
) -> None:
    run_id = sweep(**script)
    gate = gates_of_run(house, run_id)[(1, 1)]
    cell = next(row["cells"]["1"] for row in matrix_rows(house, provenance="measured") if row["run_id"] == run_id)
    assert (cell["status"], gate["usable"]) == ("failed", False) and cell["why"]
    said = {one["name"]: one["reason"] for one in gate["conditions"]}
    assert words in (said[name] if name else cell["why"])
    assert runs.get_run(house, run_id)["state"] == "done", "the run goes on without that arm"
    stages = {stage["name"]: stage["state"] for stage in runs.show_run(house, run_id)["stages"]}
    assert stages == {"baseline": "done", "n=1": "failed", "baseline again": "done"}


def test_a_slot_that_drafts_badly_is_named(house: House, sweep: Sweep) -> None:
    run_id = sweep({"production_c": 3}, at={"1": {"pace_s": 0.13, "bad_slot": {"slot": 1, "accept": 0.2}}})
    assert "Slot 1 accepts 19%" in failing(house, run_id, 1, 3)["slots_agree"]
    slots = repetitions_of(house, run_id, 1, 3)[-1]["slots"]
    assert [(one["slot"], round(one["share"], 1)) for one in slots] == [(0, 0.8), (1, 0.2), (2, 0.8)]


def test_fitting_to_memory_that_moved_layers_in_one_arm(
    house: House, sweep: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "bin", monkeypatch)
    run_id = sweep(load_log=ON_GPU, at={"1": {"pace_s": 0.13, "load_log": MOVED}})
    assert "layers_offloaded" in failing(house, run_id)["placement"]
    assert gates_of_run(house, run_id)[(0, 1)]["usable"]


def test_a_hot_box_with_a_stranger_on_it(house: House, sweep: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Throttling stands at the repetition it hit, the stranger and the memory spoil the cell, the slower end shows as drift."""
    hot = str(tmp_path / "hot")
    install(tmp_path / "bin", monkeypatch, hot_file=hot, apps_file=hot, apps=[f"{os.getpid()}, python train.py, 800"], moving=900)
    touch = {"path": hot, "requests": [2], "hold_s": 1.4}
    facts = str(tmp_path / "facts")
    run_id = sweep(load_log=ON_GPU, facts=facts, slower_by_start=1.0, at={"1": {"pace_s": 0.1, "touch": touch}})
    said = failing(house, run_id)
    assert "train.py" in said["alone"] and "900 MiB" in said["gpu_memory"]
    (throttled,) = [row for row in repetitions_of(house, run_id, 1, 1) if row["throttle"]]
    assert (throttled["throttle"], [one["name"] for one in throttled["others_on_gpu"]]) == (["hardware thermal"], ["python train.py"])
    hit = {(row["seq"], row["moment"]) for row in house.store.cells.telemetry(run_id) if row["throttle"]}
    assert hit == {(throttled["seq"], "during")}, "heat is tied to the one repetition it hit"
    assert runs.show_run(house, run_id)["finished"]["drifted"] is True


def test_figures_the_two_clocks_do_not_agree_on(house: House, sweep: Sweep) -> None:
    run_id = sweep(honest=False, speeds={"0": 100, "1": 140})
    said = failing(house, run_id)
    assert "differ by" in said["books"] and gates_of_run(house, run_id)[(1, 1)]["residuals"]["books"] > 0.03
