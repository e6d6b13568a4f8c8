"""Price explorer: the example, a cell's values, links, what-ifs, hostile and missing input."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core.domain.explorer import FIELDS
from core.services.house import House
from tests.fakes.measured_run import write_run
from tests.pages.conftest import OpenPage, words


def typed(at: AppTest) -> dict[str, str]:
    """What stands in the fields."""
    return {name: at.text_input(key=f"price-{name}").value or "" for name in FIELDS}


def link_of(at: AppTest) -> dict[str, str]:
    """The address bar; a value comes as text or as a list of one."""
    return {name: value if isinstance(value, str) else value[-1] for name, value in at.query_params.items()}


def put(at: AppTest, **values: str) -> AppTest:
    """Types into fields and waits for the page."""
    for name, text in values.items():
        at.text_input(key=f"price-{name}").set_value(text)
    return at.run()


def test_starts_with_a_worked_example_sentence_first(open_page: OpenPage) -> None:
    at = open_page("price")
    assert not at.exception
    assert at.subheader[0].value == "▲ WINS 1.18×"
    assert "takes as long as 1.7 plain steps. Text comes out 18% faster." in at.markdown[0].value
    assert [metric.value for metric in at.metric] == ["1.18× ▲", "76.0 ms", "2.00", "68.8%", "100.0%"]
    assert "(D + V) ÷ a = 38.0 ms  <  45.0 ms = H" in words(at)


def test_takes_the_values_of_a_cell_and_puts_them_into_the_address(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house)
    at = open_page("price")
    at.selectbox(key="price-cell").select(f"{run_id}-2-1").run()
    assert not at.exception
    fields = typed(at)
    assert (fields["n"], fields["d"], fields["h"], fields["spec"]) == ("2", "6", "45.045", "")
    assert "▼ LOSES 0.97×" in words(at)
    assert link_of(at)["n"] == "2" and link_of(at)["cell"] == f"{run_id}-2-1"


def test_a_link_shows_the_same_in_a_fresh_browser(open_page: OpenPage) -> None:
    at = put(open_page("price", cell="published~deepseek-q8-24~3"), wa="100", wv="150")
    again = open_page("price", **link_of(at))
    assert typed(again) == typed(at) and [m.value for m in again.metric] == [m.value for m in at.metric]
    assert "Even a draft that is always right could not win at this cost." in words(again)
    assert "1.38×" in words(again) and "Not measured." in words(again)


def test_a_second_link_in_the_same_tab_brings_its_own_values(open_page: OpenPage) -> None:
    at = open_page("price", h="50", n="2", a="2.5", v="100")
    assert typed(at)["h"] == "50"
    at.query_params["cell"] = "published~qwen-27b-q8~3"
    for name in ("h", "n", "a", "v"):
        del at.query_params[name]
    at.run()
    assert typed(at)["h"] == "37.037" and typed(at)["spec"] == "59.3" and typed(at)["a"] == ""


def test_without_acceptance_there_are_bounds(open_page: OpenPage) -> None:
    at = open_page("price", cell="published~qwen-27b-q8~3")
    assert not at.exception
    said = words(at)
    assert "How many were right was not recorded" in said and "Not drawn" in said
    assert "not recorded: 2.20 … 4.00" in [metric.value for metric in at.metric]
    assert "between 0.0% and 27.4%" in [metric.value for metric in at.metric]


BAD = {"h": "0", "n": "0", "a": "9", "d": "-1", "v": "NaN", "spec": "inf", "wa": "150", "wv": "<img src=x onerror=alert(1)>" + "x" * 5000}


def test_every_bad_field_has_its_message_and_what_was_typed_stays(open_page: OpenPage) -> None:
    at = put(open_page("price"), **BAD)
    assert not at.exception and typed(at) == BAD
    said = words(at).replace("\\", "")
    assert said.count("⚠") == 7, "a is judged once n can be"
    for sentence in (
        "Has to be above 0 ms.",
        "Has to be at least 1.",
        "This is no number",
        "Has to be at most 100%.",
        "Has to be at least 0 ms.",
    ):
        assert sentence in said, sentence
    assert "everything you typed is still there" in said and "onerror" not in said
    at = put(at, h="45", n="1", a="2", d="", v="70", spec="", wa="", wv="")
    assert "▲ WINS 1.29×" in words(at)


ONE_BAD = [("n", "0", "at least 1"), ("a", "2.5", "at most 2 tokens"), ("wa", "101", "at most 100%"), ("h", "", "Is needed")]


@pytest.mark.parametrize("name, text, sentence", ONE_BAD)
def test_one_bad_field_names_itself(open_page: OpenPage, name: str, text: str, sentence: str) -> None:
    at = put(open_page("price"), **{name: text})
    assert not at.exception and sentence in words(at).replace("\\", "") and words(at).count("⚠") == 1


@pytest.mark.parametrize("query", [{"h": "NaN"}, {"n": "-1"}, {"a": "<b>"}, {"v": "9" * 50}, {"spec": "=1+1"}])
def test_a_hostile_link_is_a_message_beside_its_field(open_page: OpenPage, query: dict[str, str]) -> None:
    at = open_page("price", **{"h": "45", "n": "1", "a": "2", **query})
    assert not at.exception and "⚠" in words(at) and typed(at)[next(iter(query))] == next(iter(query.values()))


def test_values_that_contradict_one_another_are_named(open_page: OpenPage) -> None:
    at = put(open_page("price"), spec="99")
    assert not at.exception and "already make 26.3 tok/s" in words(at).replace("\\", "")


@pytest.mark.parametrize("cell", ["published~x~1", "<b>", "published~qwen-27b-q8~0", "²-1-1"])
def test_a_cell_that_cannot_be_taken_is_a_clear_sentence_over_the_example(open_page: OpenPage, cell: str) -> None:
    at = open_page("price", cell=cell)
    assert not at.exception and at.error[0].value == "Not found" and typed(at)["h"] == "45.05"
