"""A real sweep, from the engine's own log to the receipt: placement, rates by position, D and V agree with the samples' own counts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.bootstrap import Services, build
from core.config import Settings
from core.domain.box import THIS_MACHINE, ModelFile
from core.domain.run import DONE, FINAL, new_run_id
from core.services.follow import follow_once
from core.services.matrix import matrix_rows
from core.services.receipts import receipt
from core.services.runs import read_raw, start_run
from core.services.worksheets import propose, show_worksheet, sweep_values
from tests.engine.conftest import Make

MODEL = "dense-wrong-5"
PATIENCE_S = 180.0


@pytest.fixture
def services(tmp_path: Path, made: Make) -> Iterator[Services]:
    """The app's services, with one small model registered on this machine."""
    opened = build(Settings(db=tmp_path / "t.duckdb", local_dir=tmp_path / "local", grace_s=2))
    box = opened.house.box(THIS_MACHINE).model_copy(update={"models": [ModelFile(name=MODEL, path=str(made(MODEL)))]})
    opened.house.store.boxes.put(box, who="test", at=opened.house.clock.now())
    yield opened
    opened.jobs.close()
    opened.database.close()


def test_the_receipt_shows_what_the_run_s_own_log_says(services: Services) -> None:
    house, run_id = services.house, new_run_id()
    proposal = {"title": "MTP", "box_id": THIS_MACHINE, "engine_id": "embedded", "model": MODEL, "workload_id": "chat-short", "n_max": 2}
    worksheet = propose(house, proposal, who="Ada")
    start_run(house, run_id, sweep_values(show_worksheet(house, worksheet)["worksheet"]), who="Ada")
    end = time.monotonic() + PATIENCE_S
    while house.store.runs.get(run_id)["state"] not in FINAL:
        assert time.monotonic() < end, house.store.runs.get(run_id)
        follow_once(house, run_id)
        time.sleep(0.2)
    assert house.store.runs.get(run_id)["state"] == DONE

    view = receipt(house, f"{run_id}-1-1", with_logs=True)
    (found,) = view["log_readings"]
    values, samples = found["values"], view["samples"]
    assert found["kind"] == "load_log" and found["problem"] == "" and found["warnings"] == []
    assert read_raw(house, run_id, found["name"]), "the log that was read is kept"
    drafted, accepted, steps = (sum(row[key] for row in samples) for key in ("drafted", "accepted", "steps"))
    assert (values["requests"], values["drafted"], values["accepted"], values["steps"]) == (len(samples), drafted, accepted, steps)
    assert values["accept_share"] == pytest.approx(accepted / drafted, abs=1e-6)
    assert values["per_pos"][0] == pytest.approx(accepted / drafted, abs=0.00051), "one token a draft: the first position is all of it"
    spent = sum(row["predicted_ms"] for row in samples)
    assert values["step_ms"] == pytest.approx(spent / steps, rel=1e-3)
    assert values["D_ms"] > 0 and values["D_ms"] + values["V_ms"] == pytest.approx(values["step_ms"], abs=1e-5)
    each = [row["d_ms"] for row in samples]
    assert min(each) - 0.001 <= values["D_ms"] <= max(each) + 0.001, "the log's D is the mean over the repetitions"
    assert values["host_only"] is True and values["spilled"] is True
    assert values["kv_mib"] > 0 and set(values["compute_mib"]) == {"CPU"} and values["device_mib"] == {}

    (baseline, *_) = receipt(house, f"{run_id}-0-1", with_logs=True)["log_readings"]
    assert baseline["values"]["drafted"] is None and baseline["values"]["kv_mib"] > 0
    sheet = show_worksheet(house, worksheet)
    spill = next(row for row in sheet["fields"] if row["key"] == "spill")["candidate"]["text"]
    assert f"KV {values['kv_mib']:.1f} MiB" in spill and "compute" in spill
    assert sheet["log_readings"]["candidate"] and sheet["log_readings"]["baseline"]
    (row,) = matrix_rows(house, provenance="measured")
    assert row["cells"]["1"]["run_id"] == run_id and matrix_rows(house, provenance="imported") == []
