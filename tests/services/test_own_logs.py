"""A run's own logs, read once per content: on the receipt and in the worksheet; what cannot be read is a sentence."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime

import pytest

from core.domain.run import DONE
from core.errors import NotFound
from core.services import readings
from core.services.readings import reading_of_run_log
from core.services.receipts import receipt
from core.services.worksheets import propose, show_worksheet
from tests.fakes.measured_run import write_run

PROPOSAL = {"title": "MTP", "box_id": "this-machine", "engine_id": "embedded", "model": "made-dense", "workload_id": "chat-short"}
LOG = b"""load_tensors: offloading output layer to GPU
load_tensors: offloaded 49/49 layers to GPU
load_tensors:        CUDA0 model buffer size = 13000.00 MiB
load_tensors:          CPU model buffer size =  9000.00 MiB
llama_context: n_ctx         = 4096
llama_kv_cache:      CUDA0 KV buffer size =   512.00 MiB
llama_kv_cache: size =  512.00 MiB (  4096 cells,  48 layers,  1/1 seqs), K (f16):  256.00 MiB, V (f16):  256.00 MiB
sched_reserve:      CUDA0 compute buffer size =   300.00 MiB
sched_reserve:  CUDA_Host compute buffer size =    20.00 MiB
main: server is listening on http://127.0.0.1:1
slot print_timing: id  0 | task 1 | prompt eval time =     100.00 ms /    10 tokens (   10.00 ms per token,   100.00 tokens per second)
slot print_timing: id  0 | task 1 |        eval time =    2000.00 ms /   101 tokens (   20.00 ms per token,    50.00 tokens per second)
slot print_timing: id  0 | task 1 |       total time =    2100.00 ms /   111 tokens
slot print_timing: id  0 | task 1 | draft acceptance = 0.75000 (   60 accepted /    80 generated), mean len =  2.50
common_speculative: statistics        draft-mtp: #calls(b,g,a) =    1     40     40, #gen drafts =     40, #acc drafts =    36, \
#gen tokens =     80, #acc tokens =    60, #mean acc len = 2.50, #acc rate/pos = (0.900, 0.600), dur(b,g,a) = 0.010, 80.000, 0.049 ms
"""


def keep(house, run_id, data, *, servers=range(1, 6)):
    """Replaces the scripted logs, as if the engines had printed this."""
    with house.store.runs._db.tx() as cursor:
        cursor.execute("DELETE FROM raw_files WHERE run_id = ?", [run_id])
    for number in servers:
        kept = house.archive.keep(run_id, f"server-{number}.log", data)
        row = {"run_id": run_id, "name": f"server-{number}.log", "sha256": kept.sha256, "bytes": kept.bytes, "stored_as": kept.stored_as}
        house.store.runs.add_raw_file({**row, "noted_at": datetime(2026, 3, 1, tzinfo=UTC)})


def test_placement_acceptance_and_drafting_cost_stand_on_the_receipt(house):
    run_id = write_run(house)
    keep(house, run_id, LOG)
    (found,) = receipt(house, f"{run_id}-2-1", with_logs=True)["log_readings"]
    values = found["values"]
    assert (found["name"], found["kind"], found["problem"], found["warnings"]) == ("server-3.log", "load_log", "", [])
    assert (values["host_mib"], values["device_mib"], values["spilled"]) == (9000.0, {"CUDA0": 13000.0}, True)
    assert (values["kv_mib"], values["compute_mib"]) == (512.0, {"CUDA0": 300.0, "CUDA_Host": 20.0})
    assert (values["accepted"], values["drafted"], values["accept_share"], values["per_pos"]) == (60, 80, 0.75, [0.9, 0.6])
    assert (values["D_ms"], values["V_ms"], values["step_ms"], values["a"], values["steps"]) == (2.0, 48.0, 50.0, 2.5, 40)
    assert len(receipt(house, f"{run_id}-0-1", with_logs=True)["log_readings"]) == 2, "the baseline ran on two engine starts"
    assert receipt(house, f"{run_id}-2-1")["log_readings"] == [], "the matrix asks for many receipts and for no logs"


def test_a_content_is_read_once_and_anew_by_another_reader(house, monkeypatch):
    run_id = write_run(house)
    keep(house, run_id, LOG)
    first = reading_of_run_log(house, run_id, "server-1.log")
    seen = []
    monkeypatch.setattr(readings, "_read", lambda data: seen.append(data) or {"kind": None, "values": {}, "warnings": [], "problem": "x."})
    assert reading_of_run_log(house, run_id, "server-1.log") == first
    assert reading_of_run_log(house, run_id, "server-2.log") == {**first, "name": "server-2.log"}, "the same bytes under another name"
    assert seen == []
    monkeypatch.setattr(readings, "reader_id", lambda: "another reader")
    assert reading_of_run_log(house, run_id, "server-1.log")["problem"] == "x." and len(seen) == 1


def test_the_worksheet_shows_the_log_beside_what_was_measured(house):
    worksheet = propose(house, PROPOSAL, who="Ada")
    run_id = write_run(house, worksheet_id=worksheet)
    keep(house, run_id, LOG)
    view = show_worksheet(house, worksheet)
    fields = {row["key"]: row for row in view["fields"]}
    assert fields["spill"]["candidate"]["text"].endswith(
        "on the host (41% of weights); KV 512.0 MiB, compute 320.0 MiB".replace(", c", "; c")
    )
    assert fields["positions"]["candidate"]["text"].startswith("90% of drafts got that far"), "the run's own counters go first"
    assert [one["name"] for one in view["log_readings"]["candidate"]] == ["server-2.log"]
    assert view["log_readings"]["candidate"][0]["values"]["D_ms"] == 2.0


def test_without_counters_the_log_fills_the_rates_by_position(house):
    worksheet = propose(house, PROPOSAL, who="Ada")
    run_id = write_run(house, worksheet_id=worksheet)
    keep(house, run_id, LOG)
    with house.store.runs._db.tx() as cursor:
        cursor.execute("UPDATE samples SET per_position = NULL")
    positions = next(row for row in show_worksheet(house, worksheet)["fields"] if row["key"] == "positions")["candidate"]
    assert positions["text"].startswith("90%, 60% of drafts got that far (as its log printed them, warm-up included)")
    assert (positions["state"], positions["provenance"], positions["run_id"]) == ("ok", "measured", run_id)


@pytest.mark.parametrize("data", [b"", bytes(range(256)) * 40, b"nothing known\n" * 9])
def test_a_log_that_cannot_be_read_is_a_sentence(house, data):
    run_id = write_run(house, state=DONE)
    keep(house, run_id, data)
    (found,) = receipt(house, f"{run_id}-1-1", with_logs=True)["log_readings"]
    assert found["values"] == {} and found["problem"].endswith(".")


def test_a_damaged_raw_file_is_a_sentence_and_is_not_kept_as_a_reading(house):
    run_id = write_run(house)
    keep(house, run_id, LOG)
    path = house.archive.folder / "raw" / run_id / "server-1.log.gz"
    good = path.read_bytes()
    path.write_bytes(gzip.compress(b"changed"))
    assert "was changed after it was stored" in reading_of_run_log(house, run_id, "server-1.log")["problem"]
    path.write_bytes(good)
    assert reading_of_run_log(house, run_id, "server-1.log")["values"]["a"] == 2.5


def test_unknown_names_are_answered_with_the_known(house):
    run_id = write_run(house)
    with pytest.raises(NotFound) as refused:
        reading_of_run_log(house, run_id, "../x")
    assert "server-1.log" in refused.value.hint
