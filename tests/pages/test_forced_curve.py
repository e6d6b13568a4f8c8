"""The forced pass as a curve: on the receipt and below the matrix; a run without one says how to get one."""

from __future__ import annotations

import json

from core.services.house import House
from tests.fakes.measured_run import write_run
from tests.pages.conftest import OpenPage, words
from tests.services.test_explain import add_events

LINES = [
    {"n_max": 1, "a_none": 1.0, "none_ms": 66.0, "a_all": 2.0, "all_ms": 72.0, "d_ms": 6.0},
    {"n_max": 2, "a_none": 1.0, "none_ms": 150.0, "a_all": 3.0, "all_ms": 160.0, "d_ms": 8.0},
]


def test_the_receipt_says_whether_a_better_draft_could_ever_pay(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house)
    add_events(house, run_id, ("forced_fit", {"lines": LINES, "across": None}))
    at = open_page("receipt", cell=f"{run_id}-2-1")
    assert not at.exception
    said = words(at)
    assert "n_max 1 pays from 1.54 tokens a step on; measured 1.88 tokens, 1.18×" in said
    assert "n_max 2 can never pay, with every guess right; measured 2.51 tokens, 0.97×" in said
    assert "no decision rests on it" in said
    specs = [json.loads(chart.proto.spec) for chart in at.get("plotly_chart")]
    names = [trace.get("name") for spec in specs for trace in spec["data"]]
    assert "n_max 1, forced" in names and "n_max 1, measured" in names and any("slope" in (name or "") for name in names)


def test_the_matrix_offers_it_where_a_run_had_one(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house)
    at = open_page("matrix", curves="Speed-up against a")
    assert not at.exception and "No row on this page had a forced-acceptance pass" in words(at)
    add_events(house, run_id, ("forced_fit", {"lines": LINES, "across": None}))
    at = open_page("matrix", curves="Speed-up against a")
    assert not at.exception and "n_max 2 can never pay" in words(at)


def test_the_slope_of_every_row_stands_below_the_matrix(open_page: OpenPage, house: House) -> None:
    write_run(house)
    at = open_page("matrix", curves="Step cost against n_max")
    assert not at.exception
    (chart,) = [
        c for c in at.get("plotly_chart") if "plain steps" in json.loads(c.proto.spec)["layout"]["yaxis"].get("title", {}).get("text", "")
    ]
    names = [trace["name"] for trace in json.loads(chart.proto.spec)["data"]]
    assert len(names) == 4 and all("slope" in name for name in names)


def test_coverage_says_what_to_measure_next(open_page: OpenPage, house: House) -> None:
    write_run(house, rates={0: [22.0, 22.2, 22.4], 1: [26.1, 26.3, 26.5]})
    at = open_page("coverage")
    assert not at.exception and "Could turn: from keep to widen." in words(at).replace("\\", "")
