"""The noise rule: exact permutation, medians, two per cent."""

from itertools import combinations

import pytest

from core.domain.stats import compare, permutation_p


def test_three_against_three_needs_complete_separation():
    assert permutation_p([4, 5, 6], [1, 2, 3]) == pytest.approx(1 / 20)
    assert compare([4, 5, 6], [1, 2, 3]).verdict == "above"
    assert compare([3.5, 5, 6], [1, 2, 4]).verdict == "no-difference"


def test_p_counts_splits_by_hand():
    a, b = [3.0, 7.0, 5.0], [1.0, 6.0, 2.0, 4.0]
    pool = a + b
    ranks = {v: i for i, v in enumerate(sorted(pool), 1)}
    seen = sum(ranks[v] for v in a)
    totals = [sum(ranks[v] for v in part) for part in combinations(pool, 3)]
    assert permutation_p(a, b) == pytest.approx(sum(t >= seen for t in totals) / len(totals))


def test_equal_runs_show_nothing():
    found = compare([5.0] * 3, [5.0] * 3)
    assert (found.verdict, found.p_above, found.ratio) == ("no-difference", 1.0, 1.0)


def test_below_two_per_cent_is_never_a_win():
    assert compare([101.5, 101.6, 101.7], [100, 100.1, 100.2]).verdict == "no-difference"
    assert compare([102.5, 102.6, 102.7], [100, 100.1, 100.2]).verdict == "above"
    assert compare([97, 97.1, 97.2], [100, 100.1, 100.2]).verdict == "below"


def test_too_few_runs_allow_no_word():
    assert compare([9, 9], [1, 1, 1]).verdict == "too-few"
    assert compare([], [1, 1, 1]).ratio is None


def test_one_stalled_run_does_not_decide():
    assert compare([20, 20.1, 20.2, 1.0], [10, 10.1, 10.2, 10.3]).ratio == pytest.approx(20.05 / 10.15)
