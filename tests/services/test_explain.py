"""What a receipt explains, over real rows: ledger, tag, forced pass, heat, next-best cells of the whole matrix, hostile rows."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from core.ports.batch import Batch
from core.services.decisions import decide
from core.services.explain import explain
from core.services.matrix import matrix_rows
from core.services.next_cells import next_cells
from core.services.receipts import receipt
from core.services.worksheets import propose
from tests.fakes.measured_run import write_run

PROPOSAL = {"title": "t", "box_id": "this-machine", "engine_id": "embedded", "model": "made-dense", "workload_id": "chat-short"}


def add_events(house, run_id, *events):
    """More events at the end of a run, as the box would have noted them."""
    last = house.store.runs.events(run_id)[-1]["seq"]
    batch = Batch(run_id, 2000, last, "1" * 64)
    for kind, body in events:
        batch.last_seq += 1
        batch.events.append({"seq": batch.last_seq, "kind": kind, "noted_at": datetime(2026, 3, 1, 13, tzinfo=UTC), "body": body})
    house.store.runs.ingest(batch)


def explained(house, cell_id):
    view = receipt(house, cell_id, with_logs=True)
    return view, explain(house, view)


@pytest.mark.parametrize(
    "cell, needed, can_win, dominant",
    [
        ("deepseek-q8-24~3", 1.008, False, "verify+draft"),
        ("deepseek-q8-14~1", 0.688, True, "verify+draft"),
        ("deepseek-q8-14~2", 0.929, True, "verify+draft"),
        ("deepseek-q8-14~3", 0.981, True, "verify+draft"),
        ("deepseek-q3-10~1", 0.541, True, "verify+draft"),
        ("deepseek-q3-10~2", 0.855, True, "verify+draft"),
        ("qwen-27b-q8~3", None, True, None),
    ],
)
def test_every_reference_cell_has_its_ledger(house, cell, needed, can_win, dominant):
    ledger = explained(house, f"published~{cell}")[1]["ledger"]
    assert (ledger.needed_share and round(ledger.needed_share, 3), ledger.can_win, ledger.dominant) == (needed, can_win, dominant)


def test_the_losing_reference_cells_are_diagnosed_and_their_failure_modes_named(house):
    _, found = explained(house, "published~deepseek-q8-24~3")
    assert [(one.code, one.state) for one in found["findings"]][:3] == [
        ("verify", "seen"),
        ("heat", "not_recorded"),
        ("residency", "ruled_out"),
    ]
    codes = {one.code for one in found["failure_modes"]}
    assert {"copied_length", "across_spill", "one_stream"} <= codes and "no_suite" not in codes
    assert found["advice"][0].n_max == 1 and found["advice"][0].minutes is None
    _, qwen = explained(house, "published~qwen-27b-q8~3")
    assert qwen["findings"] == [] and "no_acceptance" in {one.code for one in qwen["failure_modes"]}


def test_the_forced_pass_gives_a_cost_line_to_predict_with(house):
    run_id = write_run(house, rates={0: [22.0, 22.2, 22.4], 3: [26.1, 26.3, 26.5]})
    line = {"n_max": 2, "a_none": 1.0, "none_ms": 60.0, "a_all": 3.0, "all_ms": 70.0, "d_ms": None}
    add_events(house, run_id, ("forced_fit", {"lines": [line], "across": None}))
    _, found = explained(house, f"{run_id}-3-1")
    one, two = found["projection"]
    assert (one.speedup, two.cost_from) == (None, "forced-acceptance pass")
    assert (
        two.a == pytest.approx(2.6) and two.step_ms == pytest.approx(68.0) and two.speedup == pytest.approx(2.6 * 45.045 / 68.0, rel=1e-3)
    )
    assert [one.what for one in found["advice"]][:2] == ["n_max 1", "n_max 2"] and "Predicted 1.72×" in found["advice"][1].why


def test_heat_cached_tokens_and_throttling_come_from_the_repetitions(house):
    run_id = write_run(house, rates={0: [22.0, 22.2, 22.4], 1: [18.0, 18.1, 18.2]})
    body = {
        "n_max": 1, "c": 1, "counted": True, "streams": [{"cached_tokens": 7}], "throttle": ["SW power cap"],
        "telemetry": [{"at_s": 0.0, "temp_c": 60.0}, {"at_s": 3.0, "temp_c": 88.0}],
    }  # fmt: skip
    add_events(house, run_id, ("sample", body), ("sample", {**body, "n_max": 0, "throttle": ["other arm"]}))
    findings = {one.code: one for one in explained(house, f"{run_id}-1-1")[1]["findings"]}
    assert findings["heat"].state == "seen" and "throttled: SW power cap; 60 → 88 °C" in findings["heat"].evidence
    assert "other arm" not in findings["heat"].evidence


def test_a_flip_at_production_is_the_wrong_kind_of_speed(house):
    run_id = write_run(house, production={0: [80.0, 81.0, 82.0], 1: [70.0, 71.0, 72.0]})
    finding = next(one for one in explained(house, f"{run_id}-1-1")[1]["findings"] if one.code == "speed")
    assert finding.state == "seen" and "wins at one stream, loses at c=4" in finding.evidence


def test_minutes_and_decisions_stand_with_the_advice(house):
    worksheet = propose(house, PROPOSAL, who="Ada")
    run_id = write_run(house, rates={0: [22.0, 22.2, 22.4], 1: [26.1, 26.3, 26.5]}, worksheet_id=worksheet)
    decide(house, {"worksheet_id": worksheet, "verdict": "reject", "owner": "Ada", "reason": "not priced", "against_why": "suite first"})
    view, found = explained(house, f"{run_id}-1-1")
    assert [one["as"] for one in view["decisions"]] == ["candidate"] and [one["worksheet_id"] for one in view["worksheets"]] == [worksheet]
    assert receipt(house, f"{run_id}-0-1")["decisions"][0]["as"] == "baseline"
    (advice, *_) = found["advice"]
    assert advice.what == "n_max 2" and advice.rests == ("entry 1: REJECT by Ada",) and advice.minutes > 0


def test_next_cells_over_the_whole_matrix_put_rows_with_decisions_first(house):
    found = next_cells(house, limit=10)
    assert {one["provenance"] for one in found} == {"transcribed"} and len(found) >= 2
    worksheet = propose(house, PROPOSAL, who="Ada")
    run_id = write_run(house, rates={0: [22.0, 22.2, 22.4], 1: [26.1, 26.3, 26.5]}, worksheet_id=worksheet)
    decide(house, {"worksheet_id": worksheet, "verdict": "reject", "owner": "Ada", "reason": "not priced", "against_why": "suite first"})
    first = next_cells(house, matrix_rows(house))[0]
    assert first["run_id"] == run_id and first["cell_id"].startswith(run_id) and first["advice"].could_change == "from keep to widen"


def test_an_empty_store_of_runs_has_no_advice_but_the_published_rows(house):
    house.store.published.replace("chapter-3 RESULTS-MATRIX (2026-08-28)", [], [])
    assert next_cells(house) == []
