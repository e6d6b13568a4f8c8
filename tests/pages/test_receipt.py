"""Receipt: measured, published, baseline, failed, unknown."""

from __future__ import annotations

import csv
import io
import json
import math

import pytest
from streamlit.testing.v1 import AppTest

from core.services.explain import explain
from core.services.house import House
from core.services.receipt_files import receipt_json, samples_csv
from core.services.receipts import receipt
from core.ui.components.receipt_tabs import TABS
from tests.fakes.measured_run import write_run
from tests.pages.conftest import OpenPage, words


def test_without_a_cell_the_page_shows_the_way(open_page: OpenPage) -> None:
    at = open_page("receipt")
    assert not at.exception and "No cell is chosen." in words(at)


def tab(open_page: OpenPage, cell: str, name: str, **state: str) -> AppTest:
    """A receipt with one of its tabs open."""
    at = open_page("receipt", cell=cell)
    at.session_state[TABS] = name
    for key, value in state.items():
        at.session_state[key] = value
    return at.run()


def rows_of(at: AppTest) -> dict[str, str]:
    """Name → value of every line in the small tables."""
    lines = (line for table in at.table for line in table.value.to_dict("records"))
    return {str(line["what"]).replace("\\", ""): str(line["value"]).replace("\\", "").replace("\u2060", "") for line in lines}


def test_measured_cell_shows_the_whole_ledger(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house)
    at = open_page("receipt", cell=f"{run_id}-1-1")
    assert not at.exception
    said, lines = words(at), rows_of(at)
    assert "▲ WINS 1.18×" in said
    assert "a step brings 1.9 tokens and takes as long as 1.6 plain steps. Text comes out 18% faster." in said
    assert "Each step commits 1.88 tokens and costs as much as 1.59 plain steps: you get more than you pay." in said
    assert "(D + V) ÷ a = 38.0 ms  <  45.0 ms = H" in said and "Bookkeeping" in said
    assert lines["H: a plain step"] == "45.0 ms" and lines["D: drafting"] == "6.0 ms = 0.13 H"
    assert lines["margin: H less the time of a token"] == "+7.0 ms = +15.6% of H"
    assert lines["marginal token"] == "off → 1: 30.1 ms for each token gained, 45.0 before: pays"
    assert lines["acceptance needed to break even"] == "58.9%" and lines["acceptance got, of n_max a step"] == "88.2%"
    assert lines["acceptance seen, as the source counts it"] == "88% of 204 proposed"
    assert lines["best case"] == "× 2.00 (ln +0.693)" and lines["verify"].startswith("÷") and lines["draft"].startswith("÷")
    assert lines["time to first token"] == "81 → 81 ms (±0)" and lines["context or layers given up for it"] == "none"
    assert lines["memory: weights, KV cache, buffers"] == "—? not recorded" and lines["minutes spent on this cell"] == "0.6 min"


def test_cold_stands_beside_warm_and_files_hold_every_repetition(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house)
    at = open_page("receipt", cell=f"{run_id}-1-1")
    warm, cold = (at.dataframe[place].value for place in (0, 1))
    assert list(warm["counts"]) == ["yes", "yes", "yes"] and list(cold["counts"]) == ["no: cold warm-up"]
    assert warm["accepted / proposed"][0] == "60 / 68 = 88%"
    view = receipt(house, f"{run_id}-1-1", with_logs=True)
    lines = list(csv.DictReader(io.StringIO(samples_csv(view).decode())))
    assert [line["temperature"] for line in lines] == ["cold", "warm", "warm", "warm"] and float(lines[2]["tok_per_s"]) == 26.3
    whole = json.loads(receipt_json(view, explain(house, view)))
    assert whole["explained"]["ledger"]["needed_share"] == pytest.approx(0.589, abs=0.001) and len(whole["samples"]) == 4


def test_a_reason_that_looks_like_a_formula_runs_in_no_spreadsheet(house: House) -> None:
    view = receipt(house, f"{write_run(house, failed={3: '=HYPERLINK(1)'})}-3-1")
    assert b"'=HYPERLINK(1)" in samples_csv(view) and b",=HYPERLINK" not in samples_csv(view)


def test_command_recipe_and_decisions(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house)
    said = words(tab(open_page, f"{run_id}-1-1", "Command"))
    assert "'/models/made model.gguf'" in said and "--spec-draft-n-max 1" in said and "n_max 0 → 1" in said
    said = words(tab(open_page, f"{run_id}-1-1", "Decisions resting on this cell"))
    assert "No decision rests on this cell." in said and "No worksheet reads it." in said


def test_raw_log_is_literal_searched_and_paged(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house)
    at = tab(open_page, f"{run_id}-1-1", "Raw log")
    assert not at.exception and "<b>not bold</b>" in words(at), "logs are shown literally"
    at.text_input(key="raw-search").set_value("[NO](HTTP").run()
    assert "1 of 3 lines hold it" in words(at) and "server is listening" not in words(at)
    at.text_input(key="raw-search").set_value("**nothing of the kind** <script>").run()
    assert not at.exception and "0 of 3 lines hold it" in words(at)


def test_telemetry_is_not_recorded_until_the_box_tells_it(open_page: OpenPage, house: House) -> None:
    at = tab(open_page, f"{write_run(house)}-1-1", "Telemetry")
    assert not at.exception and "—? Temperature, clocks and power were not recorded for this cell." in words(at)


def test_acceptance_against_context_stands_with_its_counts(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house)
    write_run(house, prompt_n=3000)
    said = words(tab(open_page, f"{run_id}-1-1", "Acceptance by context"))
    assert "1–128 tokens: 180 of 204 proposed accepted (88%), 3 answers" in said
    assert "2,049–4,096 tokens: 180 of 204 proposed accepted (88%), 3 answers" in said
    assert "The baseline drafts nothing." in words(tab(open_page, f"{run_id}-0-1", "Acceptance by context"))


def test_diagnosis_failure_modes_projection_and_next_cell(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house, rates={0: [22.0, 22.2, 22.4], 1: [26.1, 26.3, 26.5], 2: [18.0, 18.1, 18.2]}, drifted=True)
    at = open_page("receipt", cell=f"{run_id}-2-1")
    said = words(at).replace("\\", "")
    for line in ("1. spill and verify traffic: ● seen", "2. heat or other load: ● seen", "3. low acceptance: ○ ruled out",
                 "4. wrong kind of speed: —? not recorded", "5. cache reuse and KV precision: ○ ruled out"):  # fmt: skip
        assert line in said, line
    assert "75% accepted, yet a step costs 2.9 plain steps; 41% of the weights on the host" in said
    assert "▲ verification across host spill" in said and "▲ speed claim without a suite run" in said
    projected = at.dataframe[2].value
    assert list(projected["n_max"]) == ["1"] and projected["a, predicted"][0] == "1.90" and projected["speed-up, measured"][0] == "1.25×"
    assert "1. the whole run again" in said and "whether any of its verdicts holds" in said


def test_what_cannot_be_is_invalid_with_its_source(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house, rates={0: [math.nan, 22.2, 22.4], 1: [26.1, 26.3, 26.5], 2: [0.0, 0.0, 0.0]})
    said = words(open_page("receipt", cell=f"{run_id}-1-1"))
    assert "No speed-up: its baseline is invalid: nan tok/s is no speed" in said
    at = open_page("receipt", cell=f"{run_id}-2-1")
    assert not at.exception and "0.0 tok/s is no speed" in words(at) and f"run {run_id}" in words(at)
    at = open_page("matrix")
    assert not at.exception


@pytest.mark.parametrize("cell", ["{run}-²-1", "{run}-1-١", "{run}--1", "{run}-" + "9" * 5000 + "-1", "{run}-1-1-1", "imported~x~²"])
def test_hostile_ids_are_not_found(open_page: OpenPage, house: House, cell: str) -> None:
    at = open_page("receipt", cell=cell.format(run=write_run(house)))
    assert not at.exception and at.error[0].value == "Not found"


def test_losing_cell_says_so(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house, rates={0: [22.0, 22.2, 22.4], 1: [18.0, 18.1, 18.2]})
    assert "▼ LOSES 0.82×" in words(open_page("receipt", cell=f"{run_id}-1-1"))


def test_baseline_has_no_price(open_page: OpenPage, house: House) -> None:
    at = open_page("receipt", cell=f"{write_run(house)}-0-1")
    assert not at.exception and "This is the baseline" in words(at)


def test_failed_cell_keeps_its_reason(open_page: OpenPage, house: House) -> None:
    at = open_page("receipt", cell=f"{write_run(house, failed={3: 'out of memory'})}-3-1")
    assert not at.exception and "out of memory" in words(at)
    assert "✕ failed: out of memory" in list(at.dataframe[0].value["counts"])


def test_an_arm_that_failed_before_a_repetition_has_a_receipt_with_its_command_and_reason(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house)
    stage = {"stage": {"name": "n=3", "n_max": 3, "c": 1, "kind": "step"}, "status": "failed", "reason": "the engine ended while it loaded"}
    start = {"server": 9, "n_max": 3, "c": 1, "argv": ["llama-server", "--spec-draft-n-max", "3"]}
    with house.store.cells._db.tx() as cursor:  # type: ignore[attr-defined]
        for seq, kind, body in ((9998, "server_starting", start), (9999, "stage_done", stage)):
            cursor.execute("INSERT INTO run_events VALUES (?, ?, ?, now(), ?)", [run_id, seq, kind, json.dumps(body)])
    matrix = open_page("matrix", provenance="measured")
    assert f"](/receipt?cell={run_id}-3-1)" in matrix.table[0].value["n_max 3"].iloc[0]
    beside = [str(link.proto.label) for link in open_page("receipt", cell=f"{run_id}-1-1").get("page_link")]
    assert any("max 3 ✕" in label.replace("\\", "") for label in beside) and any("off 22.2" in label.replace("\\", "") for label in beside)
    at = open_page("receipt", cell=f"{run_id}-3-1")
    assert not at.exception and "Nothing can be priced: the engine ended while it loaded." in words(at)
    at.session_state["receipt-tabs"] = "Command"
    at.run()
    assert not at.exception and "llama-server --spec-draft-n-max 3" in words(at)


def test_published_cell_is_not_usable_for_keep(open_page: OpenPage) -> None:
    at = open_page("receipt", cell="published~deepseek-q8-24~3")
    said = words(at)
    assert not at.exception
    assert "transcribed: not usable for keep" in said and "▼ LOSES 0.86×" in said
    assert "No draft can win at n_max 3: it would need 100.8%" in said
    assert "(D + V) ÷ a = 60.2 ms  >  51.8 ms = H" in said


def test_unrecorded_acceptance_gives_bounds(open_page: OpenPage) -> None:
    at = open_page("receipt", cell="published~qwen-27b-q8~3")
    assert not at.exception and "Acceptance was not recorded: a step commits between 2.20 and 4 tokens" in words(at)


def test_unknown_cell_is_a_clear_sentence(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house)
    for cell in ("nonsense", "published~x~1", f"{run_id}-9-1", f"{run_id}-x", "<b>~", "published~"):
        at = open_page("receipt", cell=cell)
        assert not at.exception
        assert at.error[0].value == "Not found" and "There is no cell" in words(at)
