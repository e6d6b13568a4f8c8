"""One worksheet: empty, running, filled; the sweep button, typed values, gates, decision."""

from __future__ import annotations

import pytest

from core.services.house import House
from core.services.runs import stop_run
from core.services.worksheets import propose
from tests.fakes.measured_run import write_run
from tests.pages.conftest import ASKED, GOOD, OpenPage, words

HTML = "<script>alert(1)</script> **b** 😀"


def _button(at, label):
    return next(button for button in at.button if button.label == label)


def _labels(at) -> list[str]:
    return [button.label for button in at.button]


def _texts(at) -> list[str]:
    return [element.value for element in at.text]


def test_without_a_worksheet_and_with_an_unknown_one(open_page: OpenPage) -> None:
    assert "No worksheet was named." in words(open_page("worksheet"))
    at = open_page("worksheet", worksheet=HTML)
    assert "Not found" in words(at) and not at.exception


def test_empty_says_what_would_fill_each_value(open_page: OpenPage, sheet: str) -> None:
    at = open_page("worksheet", worksheet=sheet)
    assert not at.exception
    said = [caption.value for caption in at.caption]
    assert said.count("missing: run the sweep") == 14
    assert said.count("missing: run the sweep, it ends at c=4") == 2
    assert said.count("missing: type the scores in") == 2
    assert "0 of 12 priced" in _texts(at) and any(text.startswith("proposed by Ada") for text in _texts(at))
    assert [label for label in _labels(at) if label.startswith("▶")] == ["▶ measure"] * 8 + ["▶ measure at c=4"], (
        "each blank offers its run"
    )
    assert sum(text.startswith("○ missing: ") for text in _texts(at)) == 13
    assert "No suggestion yet" in _texts(at)
    assert "Run sweep" in _labels(at)


def test_run_sweep_starts_one_run_however_often_it_is_clicked(open_page: OpenPage, house: House, sheet: str) -> None:
    at = open_page("worksheet", worksheet=sheet, person="Ada")
    stale = _button(at, "Run sweep")
    stale.click().run()
    assert not at.exception
    stale.click().run()
    runs = house.store.runs.find(worksheet_id=sheet)
    assert len(runs) == 1
    assert (runs[0]["state"], runs[0]["requested_by"], runs[0]["request"]["production_c"]) == ("preparing", "Ada", 4)
    assert "Run sweep" not in _labels(at)
    assert any(link.proto.query_string == f"run={runs[0]['run_id']}" for link in at.get("page_link"))
    assert "○ n=1" in _texts(at)


def test_a_sweep_of_another_worksheet_waits_for_the_box_with_its_place(open_page: OpenPage, house: House, sheet: str) -> None:
    other = propose(house, {**ASKED, "title": "other"}, who="Bo")
    first, second = open_page("worksheet", worksheet=sheet, person="Ada"), open_page("worksheet", worksheet=other, person="Bo")
    _button(first, "Run sweep").click().run()
    _button(second, "Run sweep").click().run()
    waiting, running = house.store.runs.find()
    assert (running["state"], waiting["state"]) == ("preparing", "queued")
    assert "number 1 in the queue" in words(second) and running["run_id"][:4] in words(second) and "(Ada)" in words(second)


def test_a03_two_tabs_of_one_worksheet_start_one_sweep(open_page: OpenPage, house: House, sheet: str) -> None:
    first, second = open_page("worksheet", worksheet=sheet, person="Ada"), open_page("worksheet", worksheet=sheet, person="Bo")
    _button(first, "Run sweep").click().run()
    _button(second, "Run sweep").click().run()
    assert len(house.store.runs.find()) == 1 and "Run sweep" not in _labels(second) and "preparing" in words(second)


def test_after_a_stopped_run_another_can_be_asked_for(open_page: OpenPage, house: House, sheet: str) -> None:
    at = open_page("worksheet", worksheet=sheet, person="Ada")
    _button(at, "Run sweep").click().run()
    (run,) = house.store.runs.find()
    stop_run(house, run["run_id"], who="Ada")
    house.store.runs.set_state(run["run_id"], state="cancelled")
    at.run()
    assert any("stopped" in link.proto.label for link in at.get("page_link"))
    _button(at, "Run sweep").click().run()
    assert len(house.store.runs.find()) == 2


def test_a_sweep_needs_a_name(open_page: OpenPage, house: House, sheet: str) -> None:
    at = open_page("worksheet", worksheet=sheet)
    _button(at, "Run sweep").click().run()
    assert "Your name (in the menu) is needed." in words(at)
    assert house.store.runs.find() == []


def test_filled_shows_ranges_with_doors(open_page: OpenPage, house: House, sheet: str) -> None:
    run_id = write_run(house, worksheet_id=sheet, model="made-moe", **GOOD)
    at = open_page("worksheet", worksheet=sheet)
    assert not at.exception
    texts = _texts(at)
    for value in ("22.0–22.4 (6)", "26.1–26.5 (3)", "c=4: 40.0–42.0 (3)", "c=4: 50.0–52.0 (3)", "b10473 (abc1234)", "1.88 tokens per step"):
        assert value in texts
    doors = {link.proto.query_string for link in at.get("page_link")}
    assert {f"cell={run_id}-0-1", f"cell={run_id}-1-1", f"cell={run_id}-1-4", f"run={run_id}"} <= doors
    assert "Suggestion: KEEP, n_max=1" in texts
    assert any("Dominant cost: verify." in text for text in texts)
    assert any(text.startswith("✓ 11 of 13 pass: engine pinned on both sides, ") for text in texts)
    assert sum(text.startswith("○ missing: ") for text in texts) == 2


def test_a_name_given_late_reaches_the_forms(open_page: OpenPage, house: House, sheet: str) -> None:
    at = open_page("worksheet", worksheet=sheet)
    at.text_input(key="person").set_value("Bo").run()
    assert [at.text_input(key=key).value for key in ("suite-by", "decision-owner")] == ["Bo"] * 2
    at.text_input(key="decision-owner").set_value("Cy").run()
    at.text_input(key="person").set_value("Di").run()
    assert [at.text_input(key=key).value for key in ("suite-by", "decision-owner")] == ["Di", "Cy"]


def test_scores_are_typed_in_with_a_name(open_page: OpenPage, house: House, sheet: str) -> None:
    at = open_page("worksheet", worksheet=sheet, person="Bo")
    at.text_input(key="suite-name").set_value(HTML)
    at.text_input(key="suite-values-0").set_value("40, 47.5")
    _button(at, "Save scores").click().run()
    assert not at.exception
    assert f"{HTML}: 40, 47.5" in _texts(at)
    (entry,) = house.store.worksheets.entries(sheet)
    assert (entry["side"], entry["value"]["scores"], entry["typed_by"]) == ("baseline", [40.0, 47.5], "Bo")


@pytest.mark.parametrize(
    ("scores", "sentence"),
    [
        ("", "Scores are needed"),
        ("40, forty", "“forty” is none."),
        ("40,5, 47,2", "“40,5” may be one number or two"),
        ("nan", "Scores, number 1, has to be a number."),
        ("1e99", "Scores, number 1, has to be at most 1000000.0."),
        ("1 " * 60, "Scores"),
        ("x" * 10_000, "is none."),
    ],
)
def test_odd_scores_are_told_and_kept(open_page: OpenPage, house: House, sheet: str, scores: str, sentence: str) -> None:
    at = open_page("worksheet", worksheet=sheet)
    at.text_input(key="suite-name").set_value("y" * 10_000)
    at.text_input(key="suite-values-0").set_value(scores)
    _button(at, "Save scores").click().run()
    assert not at.exception
    assert sentence in words(at)
    assert at.text_input(key="suite-name").value == "y" * 10_000 and at.text_input(key="suite-values-0").value == scores
    assert house.store.worksheets.entries(sheet) == []


def test_a_flip_at_production_is_pointed_out(open_page: OpenPage, house: House, sheet: str) -> None:
    write_run(house, worksheet_id=sheet, model="made-moe", production={1: [30, 31, 32], 0: [40, 41, 42]})
    at = open_page("worksheet", worksheet=sheet)
    assert any("differs from the one at a single stream" in warning.value for warning in at.warning)
    assert any("the candidate is slower" in text for text in _texts(at))
