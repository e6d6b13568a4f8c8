"""Filling a worksheet: fields that save themselves, two tabs at one field, comments, recipes, plan, traffic, the field worksheet."""

from __future__ import annotations

import pytest

from core.services.house import House
from core.services.worksheet_edits import comments_of
from core.services.worksheets import get_worksheet, propose, type_text
from tests.fakes.measured_run import write_run
from tests.pages.conftest import OpenPage, words
from tests.pages.test_worksheet import ASKED, GOOD, HTML, _button, _texts


@pytest.fixture
def sheet(house: House) -> str:
    return propose(house, {**ASKED, "production_c": 4}, who="Ada")


def field(at, sheet, name, side):
    return at.text_area(key=f"edit-{sheet}-{name}-{side}")


def values(house: House, sheet: str) -> list[tuple[str, str, str, str]]:
    return [(one["field"], one["side"], one["value"], one["typed_by"]) for one in house.store.worksheets.entries(sheet)]


def test_a_text_saves_itself_with_name_and_time(open_page: OpenPage, house: House, sheet: str) -> None:
    at = open_page("worksheet", worksheet=sheet, person="Bo")
    field(at, sheet, "failure_modes", "candidate").set_value(HTML).run()
    field(at, sheet, "n_max", "note").set_value("why so few?").run()
    assert not at.exception
    assert HTML in _texts(at) and "why so few?" in _texts(at)
    assert values(house, sheet) == [("failure_modes", "candidate", HTML, "Bo"), ("n_max", "note", "why so few?", "Bo")]
    assert any(caption.value.startswith("typed in by Bo, 2") for caption in at.caption)
    assert any(text.startswith("autosaved by Bo") for text in _texts(at))
    at.run()
    assert len(values(house, sheet)) == 2, "drawing the page again saves nothing"


@pytest.mark.parametrize("text", ["z" * 20_000, "x\x00" * 2_000])
def test_a_text_that_is_refused_keeps_what_was_typed(open_page: OpenPage, house: House, sheet: str, text: str) -> None:
    at = open_page("worksheet", worksheet=sheet, person="Bo")
    field(at, sheet, "fit", "candidate").set_value(text).run()
    assert "Text is too long (at most 2000 characters)." in words(at)
    assert field(at, sheet, "fit", "candidate").value == text and values(house, sheet) == []
    field(at, sheet, "fit", "candidate").set_value("12 GiB free").run()
    assert "too long" not in words(at) and values(house, sheet) == [("fit", "candidate", "12 GiB free", "Bo")]


def test_without_a_name_nothing_is_saved_and_nothing_is_lost(open_page: OpenPage, house: House, sheet: str) -> None:
    at = open_page("worksheet", worksheet=sheet)
    field(at, sheet, "fit", "candidate").set_value("12 GiB free").run()
    assert "Your name (in the menu) is needed." in words(at)
    assert field(at, sheet, "fit", "candidate").value == "12 GiB free" and values(house, sheet) == []


def test_what_another_tab_saved_arrives_in_an_untouched_field(open_page: OpenPage, house: House, sheet: str) -> None:
    at = open_page("worksheet", worksheet=sheet, person="Bo")
    type_text(house, sheet, "fit", "candidate", "12 GiB free", by="Ada")
    at.run()
    assert field(at, sheet, "fit", "candidate").value == "12 GiB free"
    field(at, sheet, "fit", "candidate").set_value("11 GiB free").run()
    assert "Two people changed" not in words(at) and len(values(house, sheet)) == 2


@pytest.mark.parametrize(("button", "stands"), [("Keep theirs", "12"), ("Keep mine", "11"), ("Save merged text", "12\n11")])
def test_the_second_of_two_tabs_merges(open_page: OpenPage, house: House, sheet: str, button: str, stands: str) -> None:
    first, second = (open_page("worksheet", worksheet=sheet, person=name) for name in ("Ada", "Bo"))
    field(first, sheet, "fit", "candidate").set_value("12").run()
    field(second, sheet, "fit", "candidate").set_value("11").run()
    assert not second.exception
    assert any("Two people changed" in warning.value for warning in second.warning)
    assert {"12", "11", "·"} <= set(_texts(second)), "theirs, mine and what stood before"
    assert field(second, sheet, "fit", "candidate").value == "12"
    _button(second, button).click().run()
    assert not second.exception and not second.warning
    assert field(second, sheet, "fit", "candidate").value == stands
    assert values(house, sheet)[-1] == ("fit", "candidate", stands, "Bo")
    shown = [text for text in _texts(second) if "→" in text]
    assert shown == [f"12  →  {stands}", "12  →  11", "·  →  12"]
    first.run()
    assert field(first, sheet, "fit", "candidate").value == stands


def test_a_merge_waits_in_a_new_tab_too(open_page: OpenPage, house: House, sheet: str) -> None:
    for text, by in (("12", "Ada"), ("11", "Bo")):
        type_text(house, sheet, "fit", "candidate", text, by=by, over=0)
    assert any("Two people changed" in warning.value for warning in open_page("worksheet", worksheet=sheet, person="Bo").warning)
    assert not open_page("worksheet", worksheet=sheet, person="Ada").warning


def test_scores_typed_by_two_are_merged(open_page: OpenPage, house: House, sheet: str) -> None:
    first, second = (open_page("worksheet", worksheet=sheet, person=name) for name in ("Ada", "Bo"))
    for at, scores in ((first, "50, 51"), (second, "40, 47")):
        at.text_input(key="suite-name").set_value("tools")
        at.text_input(key="suite-values-0").set_value(scores)
        _button(at, "Save scores").click().run()
    assert any("Two people changed" in warning.value for warning in second.warning)
    assert "tools: 50, 51" in _texts(second)
    _button(second, "Keep mine").click().run()
    assert "tools: 40, 47" in _texts(second)


def test_comments_are_text(open_page: OpenPage, house: House, sheet: str) -> None:
    at = open_page("worksheet", worksheet=sheet, person="Bo")
    at.text_area(key=f"comment-text-{sheet}-0").set_value("x" * 20_000)
    _button(at, "Add comment").click().run()
    assert "Comment is too long (at most 2000 characters)." in words(at)
    assert at.text_area(key=f"comment-text-{sheet}-0").value == "x" * 20_000
    at.text_area(key=f"comment-text-{sheet}-0").set_value(HTML)
    _button(at, "Add comment").click().run()
    assert HTML in _texts(at) and at.text_area(key=f"comment-text-{sheet}-1").value == ""
    assert [(one["text"], one["written_by"]) for one in comments_of(house, sheet)] == [(HTML, "Bo")]


def test_another_measured_n_can_stand_in_the_candidate_column(open_page: OpenPage, house: House, sheet: str) -> None:
    run_id = write_run(house, worksheet_id=sheet, model="made-moe", **GOOD)
    at = open_page("worksheet", worksheet=sheet, person="Bo")
    box = at.selectbox(key=f"arm-{sheet}-candidate")
    assert box.value == "this worksheet's newest run"
    longer = next(option for option in box.options if option.startswith(f"2 · r-{run_id[:4]}"))
    box.set_value(longer).run()
    assert not at.exception
    assert "21.4–21.8 (3)" in _texts(at) and "Suggestion: NARROW, n_max=1" in _texts(at)
    at.selectbox(key=f"arm-{sheet}-candidate").set_value("this worksheet's newest run").run()
    assert "26.1–26.5 (3)" in _texts(at)


def test_a_concurrency_of_zero_is_refused_and_kept(open_page: OpenPage, house: House, sheet: str) -> None:
    at = open_page("worksheet", worksheet=sheet, person="Bo")
    at.number_input(key=f"plan-{sheet}-production_c").set_value(0)
    _button(at, "Change what is asked").click().run()
    assert "Production concurrency has to be at least 1." in words(at)
    assert at.number_input(key=f"plan-{sheet}-production_c").value == 0
    at.number_input(key=f"plan-{sheet}-production_c").set_value(8)
    _button(at, "Change what is asked").click().run()
    assert get_worksheet(house, sheet)["body"]["production_c"] == 8
    assert any(text.endswith("production concurrency 8") for text in _texts(at))


def test_traffic_shares_show_the_mix_and_its_flip(open_page: OpenPage, house: House, sheet: str) -> None:
    write_run(house, worksheet_id=sheet, model="made-moe", workload_id="chat-short", **GOOD)
    write_run(house, model="made-moe", workload_id="code", production={1: [30, 31, 32], 0: [40, 41, 42]})
    at = open_page("worksheet", worksheet=sheet, person="Bo")
    at.number_input(key=f"share-{sheet}-chat-short").set_value(60.0)
    _button(at, "Weigh").click().run()
    assert "Traffic shares have to sum to 100 %; they sum to 60.0%." in words(at)
    assert at.number_input(key=f"share-{sheet}-chat-short").value == 60.0
    at.number_input(key=f"share-{sheet}-code").set_value(40.0)
    _button(at, "Weigh").click().run()
    assert not at.exception
    assert any(text.startswith("The mix: 97.6 ms a token off, 98.7 ms on: 0.99×") for text in _texts(at))
    assert any(text.startswith("↔ It pays only above 62% of Short question") for text in _texts(at))
    assert "Suggestion: DISABLE" in _texts(at)


def test_the_field_worksheet_answers_what_is_known(open_page: OpenPage, house: House, sheet: str) -> None:
    at = open_page("worksheet", worksheet=sheet)
    assert _texts(at).count("○ not answered yet") == 7
    write_run(house, worksheet_id=sheet, model="made-moe", **GOOD)
    at = open_page("worksheet", worksheet=sheet)
    assert any(text.startswith("n_max 1: 26.1–26.5 (3) tok/s, accepted 88% of 204 proposed") for text in _texts(at))
    assert any(text.startswith("22.0–22.4 (6) tok/s at one stream, context 4096") for text in _texts(at))
    assert _texts(at).count("○ not answered yet") == 1, "the suite"
