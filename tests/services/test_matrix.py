"""The matrix as a service: the figures of the reference, filters, age and staleness, and everything a store can hold that should not be."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta

import pandas as pd
import pytest

from core.domain.matrix import NO_BASELINE
from core.errors import InvalidInput, NotFound
from core.services.matrix import fitting, matrix_rows, rows_of
from core.services.matrix_files import COLUMNS, csv_of, lines_of, markdown_of, parquet_of
from core.services.matrix_heads import all_heads, known_values
from core.services.receipts import receipt
from tests.fakes.measured_run import START, write_run

# s, a, D+V in H, break-even share: the table of worked values
WORKED = {
    ("DeepSeek Q8-MTP", 24, "3"): (0.860, 3.46, 4.02, 1.008),
    ("DeepSeek Q8-MTP", 14, "1"): (1.185, 2.00, 1.69, 0.688),
    ("DeepSeek Q8-MTP", 14, "2"): (0.973, 2.78, 2.86, 0.929),
    ("DeepSeek Q8-MTP", 14, "3"): (0.847, 3.34, 3.94, 0.981),
    ("DeepSeek Q3-MTP", 10, "1"): (1.298, 2.00, 1.54, 0.541),
    ("DeepSeek Q3-MTP", 10, "2"): (1.055, 2.86, 2.71, 0.855),
}


def measured(house, **wanted):
    return matrix_rows(house, provenance="measured", **wanted)


def test_the_reference_table_comes_out_as_worked(house):
    rows = {(row["model"], row["spill"]["layers"]): row["cells"] for row in matrix_rows(house, provenance="transcribed")}
    for (model, layers, n), expected in WORKED.items():
        cell = rows[model, layers][n]
        price = cell["price"]
        found = (round(cell["speedup"], 3), round(price["a"], 2), round(price["step_in_h"], 2), round(price["break_even_accept_share"], 3))
        assert found == expected and price["dominant"] == "verify+draft", (model, layers, n)
    qwen = rows["Qwen3.6-27B Q8 (stock MTP)", 0]["3"]
    assert (round(qwen["speedup"], 3), qwen["accept_share"], qwen["price"]["a"], qwen["price"]["dominant"]) == (2.196, None, None, None)
    decisions = {(row["model"], row["spill"]["layers"]): row["suggestion"] for row in matrix_rows(house, provenance="transcribed")}
    assert {key: (found["action"], found["n_max"]) for key, found in decisions.items()} == {
        ("Qwen3.6-27B Q8 (stock MTP)", 0): ("widen", 3),
        ("DeepSeek Q8-MTP", 14): ("keep", 1),
        ("DeepSeek Q8-MTP", 24): ("disable", 0),
        ("DeepSeek Q3-MTP", 10): ("keep", 1),
    }
    assert "No draft can win at n_max 3: it would need 100.8%" in decisions["DeepSeek Q8-MTP", 24]["text"]
    assert "its last position was not recorded" in decisions["Qwen3.6-27B Q8 (stock MTP)", 0]["text"]
    assert round(qwen["price"]["a_min"], 2) == 2.20 and round(qwen["price"]["step_ms_max"], 2) == 67.45


def test_models_stand_together_least_spill_first_and_the_other_way_round(house):
    order = [(row["model"], row["spill"]["layers"]) for row in matrix_rows(house)]
    assert order[1:3] == [("DeepSeek Q8-MTP", 14), ("DeepSeek Q8-MTP", 24)]
    turned = [(row["model"], row["spill"]["layers"]) for row in matrix_rows(house, sort="most spill first")]
    assert turned[1:3] == [("DeepSeek Q8-MTP", 24), ("DeepSeek Q8-MTP", 14)]
    with pytest.raises(InvalidInput, match="sort"):
        matrix_rows(house, sort="by luck")


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        ({"model": "made-dense"}, 2),
        ({"box": "this-machine", "concurrency": "4"}, 1),
        ({"build": "b10473 (abc1234)"}, 3),
        ({"build": "10473"}, 3),
        ({"build": "abc1234"}, 3),
        ({"build": "b1"}, 0),
        ({"context": "4096", "workload": "chat-short"}, 1),
        ({"age_days": "30"}, 2),
        ({"provenance": "transcribed"}, 4),
        ({"provenance": "transcribed", "box": "this-machine"}, 0),
        ({}, 7),
    ],
)
def test_filters(house, wanted, count):
    write_run(house, workload_id="chat-long", production={0: [60.0, 61, 62], 1: [70.0, 71, 72]})
    write_run(house, model="made-moe", workload_id="chat-short", created_at=START - timedelta(days=40))
    assert len(matrix_rows(house, **wanted)) == count


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"concurrency": "four"}, "concurrency"),
        ({"age_days": "nan"}, "age_days"),
        ({"context": "-1"}, "context"),
        ({"provenance": "x"}, "provenance"),
    ],
)
def test_a_filter_that_cannot_be_is_named(house, wanted, field):
    with pytest.raises(InvalidInput) as caught:
        matrix_rows(house, **wanted)
    assert field in caught.value.problems


def test_an_empty_store_has_no_row_and_one_run_has_one(house):
    assert measured(house) == [] and known_values([head for head in all_heads(house) if head["provenance"] == "measured"])["model"] == []
    write_run(house, rates={0: [10.0, 10.1, 10.2]})
    (row,) = measured(house)
    assert row["why"] == "nothing but the baseline is measured" and row["best"] is None


def test_without_a_baseline_no_speed_up_is_shown_and_the_cell_says_why(house):
    write_run(house, rates={1: [26.0, 26.1, 26.2]})
    (row,) = measured(house)
    cell = row["cells"]["1"]
    assert (cell["tok_s"], cell["speedup"], cell["verdict"], cell["why"], row["why"]) == (26.1, None, None, NO_BASELINE, NO_BASELINE)


def test_two_baseline_recipes_in_one_run_are_never_averaged(house, settings):
    run_id = write_run(house)
    change(house, "UPDATE servers SET recipe_id = 'another' WHERE run_id = ? AND server = 4", run_id)
    (row,) = measured(house)
    off = row["cells"]["off"]
    assert off["status"] == "invalid" and off["tok_s"] is None and "2 recipes" in off["why"] and run_id in off["why"]
    assert row["cells"]["1"]["speedup"] is None and row["cells"]["1"]["why"] == NO_BASELINE


def change(house, sql, *values):
    """Bends stored rows as no path of the product does."""
    with house.store.cells._db.tx() as cursor:
        cursor.execute(sql, list(values))


def test_three_engine_builds_are_three_rows_and_the_older_ones_are_stale(house):
    for days, build in ((3, "100"), (2, "200"), (1, "300")):
        run_id = write_run(house, created_at=START - timedelta(days=days))
        other_build = "INSERT INTO recipes SELECT ?, json_merge_patch(body, CAST(? AS JSON)) FROM recipes LIMIT 1"
        change(house, other_build, f"r{build}", json.dumps({"engine_build": build}))
        change(house, "UPDATE servers SET recipe_id = ? WHERE run_id = ?", f"r{build}", run_id)
    rows = {row["build"]: row for row in measured(house)}
    assert list(rows) == ["b300 (abc1234)", "b200 (abc1234)", "b100 (abc1234)"]
    assert rows["b300 (abc1234)"]["stale"] == [] and rows["b300 (abc1234)"]["cells"]["1"]["status"] == "ok"
    old = rows["b100 (abc1234)"]
    assert old["stale"] == ["the box has another engine build since: b300 (abc1234)"]
    assert (old["cells"]["1"]["status"], old["cells"]["1"]["tok_s"], old["cells"]["3"]["status"]) == ("stale", 26.3, "not_run")


def test_a_newer_driver_artifact_or_look_at_the_box_makes_a_row_stale_and_so_does_age(house):
    def with_driver(run_id, driver):
        seen = json.dumps({"gpus": {"list": [{"driver": driver}]}})
        patch = "UPDATE run_events SET body = json_merge_patch(body, CAST(? AS JSON)) WHERE run_id = ? AND kind = 'preflight'"
        change(house, patch, seen, run_id)

    with_driver(write_run(house, created_at=START - timedelta(days=2)), "550.1")
    with_driver(write_run(house, model="other", created_at=START - timedelta(days=1)), "560.2")
    rows = {row["model"]: row for row in measured(house)}
    assert rows["made-dense"]["stale"] == ["the box has another driver since: 560.2"] and rows["other"]["stale"] == []
    report = {"engines": [{"id": "embedded", "version_text": "version: 20000 (fedcba98)"}], "gpus": {"list": []}}
    house.store.boxes.add_check("this-machine", report, ok=True, at=START)
    assert measured(house, model="other")[0]["stale"] == ["the box has another engine build since: b20000 (fedcba98)"]
    write_run(house, model="old", created_at=START - timedelta(days=400))
    assert any("measured 40" in why for why in measured(house, model="old")[0]["stale"])


def test_the_newest_complete_run_counts_and_an_unfinished_one_only_where_there_is_none(house):
    whole = write_run(house, created_at=START - timedelta(days=1))
    write_run(house, state="failed", rates={0: [1.0, 1.1, 1.2]})
    write_run(house, model="other", state="cancelled", rates={0: [5.0, 5.1, 5.2]})
    rows = {row["model"]: row for row in measured(house)}
    assert rows["made-dense"]["run_id"] == whole
    assert rows["other"]["why"].startswith("the run did not finish (cancelled)")


@pytest.mark.parametrize("rate", ["0", "nan", "inf", "-3"])
def test_a_measured_rate_that_cannot_be_is_invalid_with_its_run(house, rate):
    run_id = write_run(house)
    change(house, "UPDATE samples SET tok_per_s = CAST(? AS DOUBLE) WHERE run_id = ? AND n_max = 1 AND repetition = 2", rate, run_id)
    (row,) = measured(house)
    cell = row["cells"]["1"]
    assert (cell["status"], cell["tok_s"], cell["speedup"]) == ("invalid", None, None) and run_id in cell["why"]
    json.dumps(row, allow_nan=False)


def test_acceptance_above_all_proposed_is_invalid_and_the_rate_stands(house):
    run_id = write_run(house)
    change(house, "UPDATE samples SET accepted = drafted + 50 WHERE run_id = ? AND n_max = 1", run_id)
    cell = measured(house)[0]["cells"]["1"]
    assert (cell["tok_s"], cell["accept_share"], cell["accept_status"]) == (26.3, None, "invalid") and "above 100%" in cell["faults"][0]


def test_a_stage_that_failed_before_one_repetition_is_a_failed_cell_with_a_door(house):
    run_id = write_run(house)
    body = json.dumps({"stage": {"n_max": 3, "c": 1, "kind": "step"}, "status": "failed", "reason": "the engine ran out of memory"})
    change(house, "INSERT INTO run_events VALUES (?, 9999, 'stage_done', now(), ?)", run_id, body)
    start = json.dumps({"server": 9, "n_max": 3, "c": 1, "argv": ["llama-server", "--spec-draft-n-max", "3"]})
    change(house, "INSERT INTO run_events VALUES (?, 9998, 'server_starting', now(), ?)", run_id, start)
    cell = measured(house)[0]["cells"]["3"]
    assert (cell["status"], cell["why"], cell["cell_id"]) == ("failed", "the engine ran out of memory", f"{run_id}-3-1")
    view = receipt(house, cell["cell_id"])
    assert (view["cell"]["why"], view["price"], view["samples"]) == ("the engine ran out of memory", None, [])
    assert [start["server"] for start in view["servers"]] == [9] and view["servers"][0]["argv"][-1] == "3"
    with pytest.raises(NotFound):
        receipt(house, f"{run_id}-4-1")


def test_a_failed_stage_of_the_forced_pass_is_no_cell(house):
    run_id = write_run(house)
    body = json.dumps({"stage": {"n_max": 3, "c": 1, "kind": "forced-all"}, "status": "failed", "reason": "no"})
    change(house, "INSERT INTO run_events VALUES (?, 9999, 'stage_done', now(), ?)", run_id, body)
    assert measured(house)[0]["cells"]["3"]["status"] == "not_run"


def test_a_drifted_run_says_so(house):
    write_run(house, drifted=True)
    (row,) = measured(house)
    assert row["drifted"] is True and row["why"].startswith("its baseline drifted while it measured; ")


def test_a_row_whose_longest_draft_wins_is_widened_only_where_its_last_position_held(house):
    run_id = write_run(house, rates={0: [20.0, 20.1, 20.2], 1: [25.0, 25.1, 25.2]})
    held = [row["suggestion"] for row in measured(house)]
    change(house, "UPDATE samples SET per_position = [0.3] WHERE run_id = ? AND n_max = 1", run_id)
    (fell,) = [row["suggestion"] for row in measured(house)]
    assert (held[0]["action"], held[0]["n_max"]) == ("widen", 1) and (fell["action"], fell["n_max"]) == ("keep", 1)


def test_ties_share_the_best_and_the_smaller_n_wins(house):
    write_run(house, rates={0: [50.0, 51, 52], 1: [90.0, 91, 92], 2: [91.5, 92.5, 93.5]})
    (row,) = measured(house)
    assert (row["best"], row["tied"]) == ("1", ["1", "2"])


HOSTILE = '=HYPERLINK("x") |*b*| <img src=x> ' + "long" * 70


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx", "\rx"])
def test_the_csv_runs_no_formula_and_its_numbers_stay_numbers(house, text):
    write_run(house, model=text)
    rows = list(csv.DictReader(io.StringIO(csv_of(measured(house)).decode(), newline="")))
    assert rows[0]["model"] == f"'{text}" and float(rows[1]["tok_s"]) == 26.3


def test_every_file_read_again_holds_what_the_matrix_shows(house):
    write_run(house, model=HOSTILE, failed={3: "out | of memory"})
    rows = matrix_rows(house)
    lines = lines_of(rows)
    assert len(lines) == 20
    read = list(csv.DictReader(io.StringIO(csv_of(rows).decode())))
    frame = pd.read_parquet(io.BytesIO(parquet_of(rows)))
    table = [[part.strip() for part in line.replace("\\|", "\0").split("|")[1:-1]] for line in markdown_of(rows).decode().splitlines()]
    assert table[0] == list(COLUMNS) == list(read[0]) == list(frame.columns) and len(table) == len(lines) + 2
    for number, line in enumerate(lines):
        for name in ("tok_s", "speedup", "accept_share", "n"):
            value = line[name]
            assert (float(read[number][name]) if read[number][name] else None) == value, (number, name)
            assert (None if pd.isna(frame[name][number]) else frame[name][number]) == value
            cell = table[number + 2][COLUMNS.index(name)]
            assert (float(cell) if cell else None) == value
        assert read[number]["status"] == frame["status"][number] == line["status"]
    assert frame["model"][0] == HOSTILE and read[0]["model"] == f"'{HOSTILE}"
    assert "<img" not in markdown_of(rows).decode().replace("\\<img", "")


def test_five_thousand_rows_are_listed_and_only_the_page_is_added_up(house, monkeypatch):
    run_id = write_run(house, rates={0: [10.0, 10.1, 10.2], 1: [12.0, 12.1, 12.2]})
    copies(house, run_id, 5000)
    heads = fitting(house, all_heads(house), provenance="measured")
    assert len(heads) == 5001
    asked = []
    real = house.store.cells.of_runs
    monkeypatch.setattr(house.store.cells, "of_runs", lambda run_ids: asked.append(run_ids) or real(run_ids))
    page = rows_of(house, heads[4975:5000])
    assert len(page) == 25 and [len(run_ids) for run_ids in asked] == [25]
    assert {row["cells"]["1"]["tok_s"] for row in page} == {12.1} and len({row["model"] for row in page}) == 25
    assert len(matrix_rows(house, model="model 4321")) == 1


def copies(house, run_id, count):
    """The run again and again under other models, written as sets of rows."""
    new = "SELECT * REPLACE (md5(CAST(i AS VARCHAR)) AS run_id"
    many = "FROM (SELECT * FROM {} WHERE run_id = ?) s, range(?) t(i)"
    other = "json_merge_patch(request, json_object('model', 'model ' || i)) AS request"
    change(house, f"INSERT INTO runs {new}, {other}) {many.format('runs')}".replace("SELECT *", "SELECT s.*", 1), run_id, count)
    for table in ("run_state", "servers", "samples"):
        change(house, f"INSERT INTO {table} {new}) {many.format(table)}".replace("SELECT *", "SELECT s.*", 1), run_id, count)
