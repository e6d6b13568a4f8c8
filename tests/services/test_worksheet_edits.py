"""Two people at one worksheet, on a real DuckDB file: nothing typed is lost, the second one merges."""

from __future__ import annotations

import threading

import pytest

from core.errors import DecisionRefused, InvalidInput, NotFound
from core.services.decisions import decide
from core.services.worksheet_edits import comment, comments_of, entry_standing, merge, waiting_to_merge, worksheet_history
from core.services.worksheets import propose, show_worksheet, type_suite, type_text
from tests.services.conftest import REQUEST

HOSTILE = "<script>alert(1)</script> **bold** [x](http://y) =1+1"


@pytest.fixture
def sheet(house):
    return propose(house, REQUEST, who="Ada")


def fit(house, sheet, text, by, over):
    return type_text(house, sheet, "fit", "candidate", text, by=by, over=over)


def test_the_second_editor_is_set_aside_and_loses_nothing(house, sheet):
    first = fit(house, sheet, "12 GiB free", "Ada", 0)
    second = fit(house, sheet, "11 GiB free", "Bo", 0)
    assert (first["is_set_aside"], second["is_set_aside"]) == (False, True)
    assert entry_standing(house, sheet, "fit", "candidate")["value"] == "12 GiB free"
    (waits,) = waiting_to_merge(house, sheet, who="Bo")
    assert (waits["mine"]["value"], waits["theirs"]["value"], waits["base"]) == ("11 GiB free", "12 GiB free", None)
    assert waiting_to_merge(house, sheet, who="Ada") == []


@pytest.mark.parametrize(("how", "stands"), [("theirs", "12"), ("mine", "11"), ("text", "12, later 11")])
def test_a_merge_ends_the_waiting_and_history_keeps_every_version(house, sheet, how, stands):
    base = fit(house, sheet, "10", "Ada", 0)
    fit(house, sheet, "12", "Ada", base["entry"])
    mine = fit(house, sheet, "11", "Bo", base["entry"])
    (waits,) = waiting_to_merge(house, sheet, who="Bo")
    assert waits["base"]["value"] == "10"
    merge(house, sheet, mine["entry"], how, by="Bo", seen=waits["theirs"]["entry"], text="12, later 11")
    assert entry_standing(house, sheet, "fit", "candidate")["value"] == stands
    assert waiting_to_merge(house, sheet, who="Bo") == []
    lines = worksheet_history(house, sheet)
    assert [(line["who"], line["old"], line["new"], line["is_set_aside"]) for line in lines] == [
        ("Bo", "12", stands, False),
        ("Bo", "12", "11", True),
        ("Ada", "10", "12", False),
        ("Ada", "", "10", False),
    ]
    assert {line["place"] for line in lines} == {"fit (memory headroom, failed flags), candidate"}


def test_a_merge_over_which_a_third_one_saved_is_set_aside_again(house, sheet):
    fit(house, sheet, "12", "Ada", 0)
    mine = fit(house, sheet, "11", "Bo", 0)
    (waits,) = waiting_to_merge(house, sheet, who="Bo")
    fit(house, sheet, "13", "Cy", waits["theirs"]["entry"])
    assert merge(house, sheet, mine["entry"], "mine", by="Bo", seen=waits["theirs"]["entry"])["is_set_aside"] is True
    (again,) = waiting_to_merge(house, sheet, who="Bo")
    assert (again["theirs"]["value"], again["mine"]["value"]) == ("13", "11")
    merge(house, sheet, again["mine"]["entry"], "mine", by="Bo", seen=again["theirs"]["entry"])
    assert entry_standing(house, sheet, "fit", "candidate")["value"] == "11"
    assert [line["new"] for line in worksheet_history(house, sheet)] == ["11", "11", "13", "11", "12"]


def test_the_same_text_twice_is_no_conflict(house, sheet):
    fit(house, sheet, "12", "Ada", 0)
    assert fit(house, sheet, "12", "Bo", 0)["is_set_aside"] is False
    assert waiting_to_merge(house, sheet, who="Bo") == []


def test_other_fields_do_not_meet(house, sheet):
    fit(house, sheet, "12", "Ada", 0)
    assert type_text(house, sheet, "failure_modes", "candidate", "none seen", by="Bo", over=0)["is_set_aside"] is False
    assert type_text(house, sheet, "fit", "note", "a note", by="Bo", over=0)["is_set_aside"] is False


def test_suite_scores_meet_too_and_are_merged_by_choice(house, sheet):
    for scores, by in (([50.0, 51.0], "Ada"), ([40.0, 47.0], "Bo")):
        type_suite(house, sheet, "baseline", {"suite": "tools", "scores": scores}, by=by, over=0)
    (waits,) = waiting_to_merge(house, sheet, who="Bo")
    with pytest.raises(InvalidInput):
        merge(house, sheet, waits["mine"]["entry"], "text", by="Bo", seen=waits["theirs"]["entry"], text="both")
    merge(house, sheet, waits["mine"]["entry"], "mine", by="Bo", seen=waits["theirs"]["entry"])
    shown = next(row for row in show_worksheet(house, sheet)["fields"] if row["key"] == "suite")
    assert shown["baseline"]["text"] == "tools: 40, 47" and shown["baseline"]["typed_by"] == "Bo"


def test_twenty_writers_at_once_lose_nothing(house, sheet):
    gate = threading.Barrier(20)

    def write(number):
        gate.wait()
        fit(house, sheet, f"text {number}", f"P{number}", 0)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    entries = house.store.worksheets.entries(sheet)
    assert sorted(entry["value"] for entry in entries) == sorted(f"text {number}" for number in range(20))
    assert [entry["entry"] for entry in entries] == list(range(1, 21))
    assert sum(entry["is_set_aside"] for entry in entries) == 19
    assert sum(len(waiting_to_merge(house, sheet, who=f"P{number}")) for number in range(20)) == 19


def test_only_the_writer_merges(house, sheet):
    fit(house, sheet, "12", "Ada", 0)
    mine = fit(house, sheet, "11", "Bo", 0)
    with pytest.raises(NotFound):
        merge(house, sheet, mine["entry"], "mine", by="Cy", seen=1)


@pytest.mark.parametrize(
    ("text", "by", "field"), [("", "Ada", "text"), ("   ", "Ada", "text"), ("x" * 20_000, "Ada", "text"), ("x", "  ", "by")]
)
def test_odd_comments_are_refused(house, sheet, text, by, field):
    with pytest.raises(InvalidInput) as refused:
        comment(house, sheet, text, by=by)
    assert list(refused.value.problems) == [field]
    assert comments_of(house, sheet) == []


def test_comments_are_literal_and_stay_possible_after_the_decision(house, sheet):
    comment(house, sheet, HOSTILE, by="Bo")
    decide(house, {"worksheet_id": sheet, "verdict": "reject", "owner": "Ada", "reason": "no time"})
    comment(house, sheet, "so be it", by="Ada")
    assert [(one["text"], one["written_by"]) for one in comments_of(house, sheet)] == [(HOSTILE, "Bo"), ("so be it", "Ada")]
    with pytest.raises(DecisionRefused):
        fit(house, sheet, "late", "Bo", 0)
    assert house.store.worksheets.entries(sheet) == []


def test_a_blank_name_and_bad_scores_are_told_together(house, sheet):
    with pytest.raises(InvalidInput) as refused:
        type_suite(house, sheet, "baseline", {"suite": "tools", "scores": [1e9]}, by=" ")
    assert set(refused.value.problems) == {"scores.0", "by"}
