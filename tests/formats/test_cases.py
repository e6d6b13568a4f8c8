"""Every sample input is read to its expected result, without a warning, by what stands in it and not by its name."""

from __future__ import annotations

import pytest

from core.formats.keys import KEYS
from core.formats.reader import read
from tests.formats.compare import CASES, EXPECTED, case_differences

READABLE = sorted(name for name, entry in EXPECTED.items() if entry["kind"] != "report")


@pytest.mark.parametrize("name", READABLE)
def test_a_sample_reads_to_its_expected_result(name: str) -> None:
    entry = EXPECTED[name]
    companion = (CASES / entry["companion"]).read_bytes() if "companion" in entry else None
    reading = read((CASES / entry["file"]).read_bytes(), companion=companion)
    assert reading.kind == entry["kind"]
    assert case_differences(entry["expect"], reading.as_json()) == []
    assert reading.warnings == []
    assert set(KEYS[reading.kind]) <= set(reading.values)


@pytest.mark.parametrize("name", READABLE)
def test_a_sample_reads_the_same_when_its_kind_is_named_and_it_comes_in_small_pieces(name: str) -> None:
    entry = EXPECTED[name]
    data = (CASES / entry["file"]).read_bytes()
    companion = (CASES / entry["companion"]).read_bytes() if "companion" in entry else None
    pieces = [data[i : i + 7] for i in range(0, len(data), 7)]
    assert read(pieces, companion=companion, kind=entry["kind"]) == read(data, companion=companion)
