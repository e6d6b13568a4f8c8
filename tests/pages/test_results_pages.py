"""Prefill, Concurrency, Suites and Coverage: with the reference alone, and with runs in the store."""

from __future__ import annotations

import json
import re

import pytest

from core.services.house import House
from core.services.worksheets import propose, type_suite
from tests.fakes.measured_run import write_run
from tests.pages.conftest import OpenPage, words


def said(at) -> str:
    assert not at.exception
    return re.sub(r"\\(.)", r"\1", words(at)).replace("\u2060", "")


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("prefill", "about 130 tok/s with the GPU indexer, 50 to 80 tok/s with the CPU indexer"),
        ("concurrency", "a dip at c=2 and c=3 with 4 slots is recorded as unresolved"),
        ("suites", "n_max=1 scored 40 and 47, speculation off 50"),
        ("coverage", "n_max 1: 100% first position"),
    ],
)
def test_an_empty_store_shows_the_reference_and_the_next_step(open_page: OpenPage, page: str, sentence: str) -> None:
    assert sentence in said(open_page(page))


def test_prefill_shows_the_range_by_build_and_what_speculation_does(open_page: OpenPage, house: House) -> None:
    write_run(house)
    at = open_page("prefill")
    assert not at.exception
    line = at.dataframe[0].value.iloc[1]
    assert (line["build"], line["n_max"], line["prefill tok/s"], line["against off"]) == ("b10473 (abc1234)", "1", "412", "1.00×")
    chart = json.loads(at.get("plotly_chart")[0].proto.spec)
    published = {tuple(trace["x"]) for trace in chart["data"] if trace.get("mode") == "markers" and "IQ3" in trace["y"][0]}
    assert published == {(130.0,), (50.0, 80.0)}


def test_concurrency_draws_both_rates_and_names_a_verdict_that_turns(open_page: OpenPage, house: House) -> None:
    write_run(house, production={0: [60.0, 61, 62], 1: [50.0, 51, 52]})
    at = open_page("concurrency")
    text = said(at)
    assert "n_max 1 wins at c=1 and loses at c=4: c=4 decides there." in text
    table = at.table[0].value
    assert table.to_dict("records") == [
        {"c": "1", "off, in all": "22.2", "off, per stream": "22.2", "n_max 1, in all": "26.3", "n_max 1, per stream": "26.3"},
        {"c": "4", "off, in all": "61.0", "off, per stream": "15.2", "n_max 1, in all": "51.0", "n_max 1, per stream": "12.8"},
    ]
    assert "is not there: ignored" in said(open_page("concurrency", recipe="nothing like it"))


def test_suites_show_typed_scores_beside_the_noise_of_the_suite(open_page: OpenPage, house: House) -> None:
    asked = {
        "title": "t",
        "box_id": "this-machine",
        "engine_id": "embedded",
        "model": "made-dense",
        "workload_id": "chat-short",
        "n_max": 1,
    }
    worksheet_id = propose(house, asked, who="Ada")
    for side, scores in (("baseline", [50.0, 52.0]), ("candidate", [30.0, 31.0])):
        type_suite(house, worksheet_id, side, {"suite": "<b>tools</b>", "scores": scores, "band": 10.0}, by="Ada")
    at = open_page("suites")
    text = said(at)
    assert "below noise (±10)" in text and "<b>tools</b>" in text and "typed in by Ada" in text
    assert "within noise (±10); fewer than two runs a side do not pass a gate" in text, "the reference has one run off"
    assert "\\<b\\>tools" in words(at), "a suite's name is never rendered"


def test_coverage_tells_measured_failed_stale_and_not_run_apart(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house, failed={3: "out of memory"}, workload_id="chat-short")
    write_run(house, model="never", rates={}, state="failed")
    at = open_page("coverage", provenance="measured", model="made-dense")
    frame = at.table[0].value
    by_workload = {line["workload"].replace("\\", ""): line for line in frame.to_dict("records")}
    assert set(by_workload) == {workload.title for workload in house.workloads.values()}, "by the names that people read"
    line = by_workload[house.workload_title("chat-short")]
    assert [line[name] for name in ("off", "n_max 1", "n_max 3")] == ["● measured", "● measured", "✕ failed"]
    assert by_workload[house.workload_title("code")]["off"] == "· not run" and line["several streams"] == "· not run"
    text = said(at)
    assert "3 measured" in text and "1 failed" in text and run_id[:4] not in text
    assert any("never" in str(link.proto.label) or "✕" in str(link.proto.label) for link in at.get("page_link"))


def test_a_claim_of_every_draft_accepted_names_the_controls_not_run(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house)
    with house.store.cells._db.tx() as cursor:  # type: ignore[attr-defined]
        cursor.execute("UPDATE samples SET accepted = drafted, steps = decode_tokens / 2 WHERE run_id = ? AND n_max = 1", [run_id])
    at = open_page("coverage", provenance="measured")
    claim = at.table[1].value.to_dict("records")[0]
    assert f"/receipt?cell={run_id}-1-1" in claim["claim"]
    assert [claim[name] for name in ("other head", "head off", "other context")] == ["· not run"] * 3
