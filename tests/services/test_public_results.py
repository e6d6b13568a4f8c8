"""Results published elsewhere: as transcribed, both ends of an interval, nothing invented, apart from everything of the lab."""

from __future__ import annotations

import csv

import pytest

from core.config import ROOT
from core.domain.published import ends_of, row_of, shown_row, web_address
from core.services.matrix import matrix_rows
from core.services.reference import published_elsewhere, seed_public_results

FILE = ROOT / "data" / "reference" / "public-results.csv"
LINES = list(csv.DictReader(FILE.read_text("utf-8").splitlines()))


def by_id(house):
    return {row["id"]: row for row in published_elsewhere(house)}


def test_every_line_is_loaded_once_and_empty_stays_empty(house):
    rows = by_id(house)
    assert len(rows) == len(LINES) == 436
    names = {"baseline_tok_per_s": "baseline_tok_s", "spec_tok_per_s": "spec_tok_s"}
    for line in LINES:
        row = rows[line["id"]]
        for column in ("baseline_tok_per_s", "spec_tok_per_s", "speedup_published", "accept_share", "tokens_per_step"):
            name = names.get(column, column)
            shown = [row[f"{name}_min"], row[f"{name}_max"]]
            parts = [float(part) for part in line[column].split("-")] if line[column] else [None]
            assert shown == [parts[0], parts[-1]], (line["id"], column)
        for column in ("n_max", "concurrency", "context_tokens", "repeats", "n_cpu_moe"):
            assert row[column] == (int(line[column]) if line[column] else None)
        for column in ("model", "placement", "draft_kind", "note", "workload", "quant", "engine_build", "published"):
            assert row[column] == (line[column] or None)
        assert row["source_url"] == line["source_url"] and row["provenance"] == "transcribed"
    assert sum(row["second_hand"] for row in rows.values()) == sum(line["note"].endswith("second-hand") for line in LINES) > 0


def test_intervals_keep_both_ends_and_ratios_are_worked_out_beside_the_published(house):
    rows = by_id(house)
    interval = rows["imp1462-01"]
    assert (interval["baseline_tok_s_min"], interval["baseline_tok_s_max"]) == (87.2, 89.2)
    assert interval["speedup_published_min"] is None and round(interval["speedup_worked_out_min"], 4) == round(80.1 / 89.2, 4)
    assert round(interval["speedup_worked_out_max"], 4) == round(83.3 / 87.2, 4)
    single = rows["imp1481-01"]
    assert single["speedup_published_min"] == 1.213 and round(single["speedup_worked_out_min"], 4) == round(104.31 / 86.03, 4)
    alone = next(row for row in rows.values() if row["baseline_tok_s_min"] is None)
    assert alone["speedup_worked_out_min"] is None and "no baseline, cannot be priced" in alone["caveat"]
    zero = next(row for row in rows.values() if row["n_max"] == 0)
    assert zero["n_max"] == 0 and zero["n_max"] is not None, "a setting that somebody ran, not off"


def test_second_hand_rows_come_last_and_say_so(house):
    marks = [row["second_hand"] for row in published_elsewhere(house)]
    assert marks == sorted(marks)
    weak = published_elsewhere(house)[-1]
    assert weak["caveat"].startswith("second-hand: copied from a summary")


def test_filters(house):
    spilled = published_elsewhere(house, placement="moe-spill")
    assert len(spilled) == sum(line["placement"] == "moe-spill" for line in LINES) == 21
    assert all("the baseline may lie elsewhere" in row["caveat"] for row in spilled)
    assert len(published_elsewhere(house, draft_kind="ngram")) == 1
    assert published_elsewhere(house, model="no such model") == []


def test_they_enter_no_row_of_the_matrix(house):
    assert len(matrix_rows(house)) == 4
    urls = {line["source_url"] for line in LINES}
    assert not any(str(cell["source"]) in urls for row in matrix_rows(house) for cell in row["cells"].values())
    assert {row["model"] for row in matrix_rows(house, model="Qwen3.8-27B")} == set()


def test_the_same_content_is_not_loaded_twice_and_another_replaces_it(house):
    at = house.store.published._db.rows("SELECT noted_at FROM public_results_loaded")
    seed_public_results(house, FILE.read_bytes())
    assert house.store.published._db.rows("SELECT noted_at FROM public_results_loaded") == at
    shorter = b"".join(FILE.read_bytes().splitlines(keepends=True)[:4])
    seed_public_results(house, shorter)
    assert [row["id"] for row in published_elsewhere(house)] == [line["id"] for line in LINES[:3]]


@pytest.mark.parametrize("text", ["about 40", "40-", "-3", "40–46", "nan", "inf", "1e3", "4 0"])
def test_a_field_that_is_no_number_is_refused_with_its_row(text):
    with pytest.raises(ValueError, match="public result imp1481-01: "):
        row_of({**LINES[0], "spec_tok_per_s": text}, 0)
    with pytest.raises(ValueError, match="neither a number nor an interval"):
        ends_of(text)


@pytest.mark.parametrize(
    ("text", "is_link"),
    [
        ("https://example.org/x?y=1", True),
        ("http://example.org", True),
        ("javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("ftp://example.org", False),
        ("https://", False),
        ("https://[", False),
        ("https://a b", False),
        ("//example.org", False),
        ("", False),
    ],
)
def test_only_web_addresses_become_links(text, is_link):
    assert web_address(text) == (text if is_link else None)
    assert shown_row(row_of({**LINES[0], "source_url": text}, 0))["source_url"] == (text if is_link else None)
