"""Receipt: measured, published, baseline, failed, unknown."""

from __future__ import annotations

from core.services.house import House
from tests.fakes.measured_run import write_run
from tests.pages.conftest import OpenPage, words


def test_without_a_cell_the_page_shows_the_way(open_page: OpenPage) -> None:
    at = open_page("receipt")
    assert not at.exception and "No cell is chosen." in words(at)


def test_measured_cell_shows_price_samples_command_and_log(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house)
    at = open_page("receipt", cell=f"{run_id}-1-1")
    assert not at.exception
    said = words(at)
    assert "▲ WINS 1.18×" in said
    assert "Each step commits 1.88 tokens and costs as much as 1.59 plain steps: you get more than you pay." in said
    assert "(D + V) ÷ a = 38.0 ms  <  45.0 ms = H" in said
    assert "a counts the target's own token" in said and "Bookkeeping" in said
    samples = at.dataframe[0].value
    assert list(samples["counts"]) == ["no: cold warm-up", "yes", "yes", "yes"]
    assert "'/models/made model.gguf'" in said and "--spec-draft-n-max 1" in said
    assert "<b>not bold</b>" in said, "logs are shown literally"
    assert "n_max 0 → 1" in said
    assert "No decision rests on this cell." in said


def test_losing_cell_says_so(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house, rates={0: [22.0, 22.2, 22.4], 1: [18.0, 18.1, 18.2]})
    assert "▼ LOSES 0.82×" in words(open_page("receipt", cell=f"{run_id}-1-1"))


def test_baseline_has_no_price(open_page: OpenPage, house: House) -> None:
    at = open_page("receipt", cell=f"{write_run(house)}-0-1")
    assert not at.exception and "This is the baseline" in words(at)


def test_failed_cell_keeps_its_reason(open_page: OpenPage, house: House) -> None:
    at = open_page("receipt", cell=f"{write_run(house, failed={3: 'out of memory'})}-3-1")
    assert not at.exception and "out of memory" in words(at)
    assert "✕ failed: out of memory" in list(at.dataframe[0].value["counts"])


def test_published_cell_is_not_usable_for_keep(open_page: OpenPage) -> None:
    at = open_page("receipt", cell="published~deepseek-q8-24~3")
    said = words(at)
    assert not at.exception
    assert "transcribed: not usable for keep" in said and "▼ LOSES 0.86×" in said
    assert "No draft can win at n_max 3: it would need 100.8%" in said
    assert "(D + V) ÷ a = 60.2 ms  >  51.8 ms = H" in said


def test_unrecorded_acceptance_gives_bounds(open_page: OpenPage) -> None:
    at = open_page("receipt", cell="published~qwen-27b-q8~3")
    assert not at.exception and "Acceptance was not recorded: a step commits between 2.20 and 4 tokens" in words(at)


def test_unknown_cell_is_a_clear_sentence(open_page: OpenPage, house: House) -> None:
    run_id = write_run(house)
    for cell in ("nonsense", "published~x~1", f"{run_id}-9-1", f"{run_id}-x", "<b>~", "published~"):
        at = open_page("receipt", cell=cell)
        assert not at.exception
        assert at.error[0].value == "Not found" and "There is no cell" in words(at)
