"""Propose a change: from fields to a worksheet."""

from __future__ import annotations

from core.services.house import House
from core.services.worksheets import get_worksheet, propose, type_text
from core.ui.components.figures import literal
from tests.pages.conftest import OpenPage, words

HTML = "<script>alert(1)</script> **bold** [link](http://x) 😀"


def _open(at, label="Open worksheet"):
    return next(button for button in at.button if button.label == label)


def test_defaults_propose_the_first_made_model(open_page: OpenPage, house: House) -> None:
    at = open_page("propose", person="Ada")
    assert at.text_input(key="propose-title").value == "Turn on MTP for made-dense"
    assert at.selectbox(key="propose-model").options == ["made-dense", "made-moe"]
    _open(at).click().run()
    assert not at.exception
    rows = house.store.worksheets.all()
    assert [(row["title"], row["created_by"]) for row in rows] == [("Turn on MTP for made-dense", "Ada")]
    assert rows[0]["body"]["n_max"] == 3 and rows[0]["body"]["repetitions"] == 3 and rows[0]["body"]["production_c"] == 1
    assert at.title[0].value == "Worksheet"


def test_title_follows_the_model_until_it_is_written(open_page: OpenPage, house: House) -> None:
    at = open_page("propose", person="Ada")
    at.selectbox(key="propose-model").set_value("made-moe").run()
    assert at.text_input(key="propose-title").value == "Turn on MTP for made-moe"
    at.text_input(key="propose-title").set_value("Mine").run()
    at.selectbox(key="propose-model").set_value("made-dense").run()
    assert at.text_input(key="propose-title").value == "Mine"


def test_every_problem_is_told_at_once_and_nothing_is_lost(open_page: OpenPage, house: House) -> None:
    at = open_page("propose")
    at.text_input(key="propose-title").set_value("x" * 10_000)
    at.number_input(key="propose-concurrency").set_value(-4)
    at.number_input(key="propose-n-max").set_value(99)
    at.number_input(key="propose-repetitions").set_value(0)
    at.run()
    _open(at).click().run()
    said = words(at)
    for sentence in (
        "Title is too long (at most 200 characters).",
        "Production concurrency has to be at least 1.",
        "Longest draft n_max has to be at most 16.",
        "Repetitions has to be at least 3.",
        "Your name (in the menu) is needed.",
        "Nothing was saved or started.",
    ):
        assert sentence in said
    assert at.text_input(key="propose-title").value == "x" * 10_000
    assert at.number_input(key="propose-concurrency").value == -4
    assert house.store.worksheets.all() == []


def test_an_empty_title_is_told(open_page: OpenPage, house: House) -> None:
    at = open_page("propose", person="Ada")
    at.text_input(key="propose-title").set_value("   ").run()
    _open(at).click().run()
    assert "Title is needed." in words(at)
    assert house.store.worksheets.all() == []


def test_html_is_kept_as_text(open_page: OpenPage, house: House) -> None:
    at = open_page("propose", person=HTML)
    at.text_input(key="propose-title").set_value(HTML).run()
    _open(at).click().run()
    assert not at.exception
    (row,) = house.store.worksheets.all()
    assert row["title"] == HTML and row["created_by"] == HTML
    assert [element.value for element in at.subheader][0] == literal(HTML)
    assert any(HTML in element.value for element in at.text)


def test_two_clicks_open_one_worksheet(open_page: OpenPage, house: House) -> None:
    at = open_page("propose", person="Ada")
    minted = at.session_state["new-worksheet-id"]
    _open(at).click().run()
    values = {**house.store.worksheets.all()[0]["body"]}
    assert propose(house, values, who="Ada", worksheet_id=minted) == minted
    assert len(house.store.worksheets.all()) == 1
    assert "new-worksheet-id" not in at.session_state


def test_a_template_sets_title_and_n_max_and_says_what_to_look_at(open_page: OpenPage, house: House) -> None:
    at = open_page("propose", person="Ada")
    at.segmented_control(key="propose-change").set_value("widen").run()
    assert not at.exception
    assert at.text_input(key="propose-title").value == "Longer drafts for made-dense"
    assert at.number_input(key="propose-n-max").value == 6
    assert "begins at n_max 1 again" in words(at)
    at.number_input(key="propose-n-max").set_value(5).run()
    _open(at).click().run()
    (row,) = house.store.worksheets.all()
    assert (row["body"]["change"], row["body"]["n_max"], row["body"]["cloned_from"]) == ("widen", 5, None)
    assert any(text.value.startswith("Widen n_max: made-dense") for text in at.text)


def test_a_clone_takes_over_the_plan_and_no_figure(open_page: OpenPage, house: House) -> None:
    values = {"title": "First", "box_id": "this-machine", "engine_id": "embedded", "model": "made-moe", "workload_id": "code",
              "n_max": 2, "repetitions": 5, "production_c": 8, "change": "draft", "n_cpu_moe": 14}  # fmt: skip
    first = propose(house, values, who="Bo")
    type_text(house, first, "fit", "candidate", "12 GiB free", by="Bo")
    at = open_page("propose", person="Ada", **{"from": first})
    assert not at.exception and "Cloned from" in words(at)
    assert at.text_input(key="propose-title").value == "Another draft head for made-moe"
    _open(at).click().run()
    row = next(one for one in house.store.worksheets.all() if one["worksheet_id"] != first)
    asked = get_worksheet(house, first)["body"]
    assert row["body"] == {**asked, "title": "Another draft head for made-moe", "cloned_from": first}
    assert house.store.worksheets.entries(row["worksheet_id"]) == []
    assert any(link.proto.query_string == f"worksheet={first}" for link in at.get("page_link"))


def test_a_clone_of_nothing_is_told_and_the_form_stays(open_page: OpenPage) -> None:
    at = open_page("propose", person="Ada", **{"from": HTML})
    assert not at.exception and "Not found" in words(at)
    assert at.text_input(key="propose-title").value == "Turn on MTP for made-dense"
