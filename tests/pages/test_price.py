"""Price explorer: the example, a cell's values, contradictory and missing input."""

from __future__ import annotations

from core.services.house import House
from tests.fakes.measured_run import write_run
from tests.pages.conftest import OpenPage, words


def test_starts_with_a_worked_example(open_page: OpenPage) -> None:
    at = open_page("price")
    assert not at.exception
    assert "▲ WINS 1.18×" in words(at)
    assert [metric.value for metric in at.metric] == ["1.18× ▲", "45.0 ms", "76.0 ms", "2.00", "68.8%"]
    assert "(D + V) ÷ a = 38.0 ms  <  45.0 ms = H" in words(at)


def test_takes_the_values_of_a_cell(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house)
    at = open_page("price")
    at.selectbox(key="price-cell").select(f"{run_id}-2-1").run()
    assert not at.exception
    assert at.number_input(key="price-n").value == 2 and at.number_input(key="price-spec").value == 21.6
    assert at.number_input(key="price-d").value == 6.0
    assert "▼ LOSES 0.97×" in words(at)


def test_a_link_brings_a_cell_and_later_edits_stay(open_page: OpenPage) -> None:
    at = open_page("price", cell="published~deepseek-q8-24~3")
    assert "No draft can win at n_max 3" in words(at)
    at.number_input(key="price-share").set_value(50.0).run()
    assert at.number_input(key="price-share").value == 50.0 and not at.exception


def test_without_acceptance_there_are_bounds(open_page: OpenPage) -> None:
    at = open_page("price", cell="published~qwen-27b-q8~3")
    assert not at.exception
    assert "Acceptance was not recorded" in words(at) and "Not drawn" in words(at)


def test_values_that_contradict_one_another_are_named(open_page: OpenPage) -> None:
    at = open_page("price")
    at.number_input(key="price-d").set_value(500.0).run()
    assert not at.exception
    assert "These values cannot be together" in at.error[0].value


def test_unknown_cell_is_a_clear_sentence(open_page: OpenPage) -> None:
    at = open_page("price", cell="published~x~1")
    assert not at.exception and at.error[0].value == "Not found"
