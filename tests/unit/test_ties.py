"""Ties on the matrix: the row's best is the sweep's winner, what cannot be told from it shares its place, the smaller n wins."""

from __future__ import annotations

from random import Random
from statistics import median

import pytest

from core.domain.matrix import column, not_run, tied_with_best
from core.domain.sweep import winner_of


def row_of(rates, planned=3):
    """Matrix cells and arms of a row, from single rates by n."""
    arms = {column(n): {"rates": values, "planned": planned} for n, values in rates.items()}
    cells = {
        name: {**not_run(), "status": "ok", "tok_s": median(arm["rates"]), "tok_s_min": min(arm["rates"]), "tok_s_max": max(arm["rates"])}
        for name, arm in arms.items()
    }
    return cells, arms


OFF = [50.0, 51.0, 52.0]


@pytest.mark.parametrize(
    ("rates", "best", "tied"),
    [
        ({0: OFF, 1: [90, 91, 92], 2: [91.5, 92.5, 93.5]}, "1", {"1", "2"}),  # they overlap: the smaller n
        ({0: OFF, 1: [90, 91, 92], 2: [95, 96, 97]}, "2", {"2"}),
        ({0: OFF, 1: [51.5, 52.5, 53.5]}, "off", {"off", "1"}),  # a tie with off is no win
        ({0: OFF, 1: [40, 41, 42], 2: [50.5, 51.5, 52.5]}, "off", {"off", "2"}),
        ({0: OFF, 1: [50.6, 51.6, 52.6], 2: [50.7, 51.7, 53.5]}, "off", {"off", "1", "2"}),
        ({0: [50.0, 51.0], 1: [90.0, 91.0]}, None, set()),  # fewer than three a side: no word
        ({0: OFF}, None, set()),
    ],
)
def test_a_tie_goes_to_the_smaller_n(rates, best, tied):
    assert tied_with_best(*row_of(rates)) == (best, tied)


def test_ranges_that_touch_are_told_apart_by_the_permutation_test():
    slow = [50.0, 50.5, 51.0, 51.5, 52.0, 52.5, 53.0, 57.0]  # one repetition reaches into the other arm
    fast = [56.0, 57.5, 58.0, 58.5, 59.0, 59.5, 60.0, 60.5]
    assert tied_with_best(*row_of({0: slow, 1: fast})) == ("1", {"1"})


def test_an_arm_that_needed_more_repetitions_has_to_clear_the_stricter_limit():
    slow, fast = [50.0, 51.0, 52.0, 53.0], [52.5, 54.0, 55.0, 56.0]  # p = 2/70
    assert tied_with_best(*row_of({0: slow, 1: fast}, planned=4)) == ("1", {"1"})
    assert tied_with_best(*row_of({0: slow, 1: fast}, planned=3)) == ("off", {"off", "1"})


def test_the_best_of_a_row_is_the_winner_of_its_sweep():
    random = Random(5)
    for _ in range(300):
        many = random.choice((3, 3, 5, 8))
        level = {n: 50 * random.choice((1.0, 1.0, 1.03, 0.9, 1.3)) for n in range(4)}
        rates = {n: [random.gauss(level[n], random.choice((0.2, 1.5))) for _ in range(many)] for n in range(4)}
        best, tied = tied_with_best(*row_of(rates))
        assert best == column(winner_of(rates, 3)) and best in tied, rates


def test_single_figures_are_apart_from_two_per_cent_on():
    cells = {
        name: {**not_run(), "status": "ok", "tok_s": rate, "tok_s_min": None, "tok_s_max": None}
        for name, rate in (("off", 50.0), ("1", 50.9), ("2", 51.2), ("3", 52.0))
    }
    assert tied_with_best(cells) == ("2", {"1", "2", "3"})  # 1 is inside the band of 2
