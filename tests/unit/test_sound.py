"""Figures that cannot be are invalid, with their source; they never reach the arithmetic and never stop a page."""

import math

import pytest

from core.domain.matrix import measured_cell, measured_price, published_cell
from core.domain.sound import count_faults, is_rate, share_fault

BASE = {
    "run_id": "a" * 32, "n_max": 0, "c": 1, "n": 3, "n_bad": 0, "n_excluded": 0, "tok_per_s": 20.0, "tok_per_s_min": 19.9,
    "tok_per_s_max": 20.1, "rates": [19.9, 20.0, 20.1], "decode_tokens": 384, "steps": None, "drafted": None, "accepted": None,
    "d_ms": None, "why_bad": None, "planned": 3,
}  # fmt: skip
SPEC = {**BASE, "n_max": 2, "tok_per_s": 30.0, "rates": [29.9, 30.0, 30.1], "steps": 192, "drafted": 384, "accepted": 192}


@pytest.mark.parametrize("rate", [math.nan, math.inf, -math.inf, 0.0, -3.0, "NaN", True])
def test_an_impossible_speed_is_invalid_with_its_source(rate):
    assert not is_rate(rate)
    found = measured_cell({**SPEC, "tok_per_s": rate, "rates": [rate, 30.0, 30.1]}, BASE)
    assert found["status"] == "invalid" and found["tok_s"] is None and found["speedup"] is None and found["verdict"] is None
    assert "is no speed" in found["why"] and f"run {'a' * 32}" in found["why"]


@pytest.mark.parametrize("rate", [math.nan, math.inf, 0.0])
def test_an_impossible_baseline_leaves_the_speed_up_out(rate):
    found = measured_cell(SPEC, {**BASE, "tok_per_s": rate, "rates": [rate] * 3})
    assert found["status"] == "ok" and found["tok_s"] == 30.0 and found["speedup"] is None and found["price"] is None


@pytest.mark.parametrize(
    "counts, words",
    [
        ({"accepted": 500, "steps": 192}, "acceptance above 100%"),
        ({"accepted": -1, "steps": 192}, "below zero"),
        ({"accepted": 192, "steps": 0}, "a step of n_max 2 commits 1 to 3"),
        ({"accepted": 192, "steps": 50}, "a step of n_max 2 commits 1 to 3"),
    ],
)
def test_impossible_counts_are_named_and_priced_as_unknown(counts, words):
    faults = count_faults(drafted=384, decode_tokens=384, n_max=2, **counts)
    assert any(words in fault for fault in faults)
    found = measured_cell({**SPEC, **counts}, BASE)
    assert found["status"] == "ok" and found["accept_status"] == "invalid" and found["accept_share"] is None and found["faults"] == faults
    assert measured_price({**SPEC, **counts}, BASE).a is None


def test_sound_counts_have_no_fault():
    found = measured_cell(SPEC, BASE)
    assert found["faults"] == [] and found["accept_status"] == "ok" and found["price"]["a"] == 2.0
    assert measured_cell(BASE, BASE)["accept_status"] == "not_applicable"
    assert measured_cell({**SPEC, "accepted": None, "drafted": None, "steps": None}, BASE)["accept_status"] == "not_recorded"


@pytest.mark.parametrize("share", [1.01, -0.1, math.nan, math.inf, "lots"])
def test_an_impossible_published_share_is_not_priced_with(share):
    cell = {"n_max": 1, "tok_per_s": 30.0, "accept_share": share, "accept_denominator": "of proposed", "source": "s", "row_key": "k"}
    found = published_cell(cell, {**cell, "n_max": 0, "tok_per_s": 20.0})
    assert share_fault(share) and found["accept_status"] == "invalid" and found["price"]["a"] is None and found["speedup"] == 1.5
