"""Forced acceptance: two points an n, the line between them, and the residual against a real run."""

from __future__ import annotations

import pytest

from core.domain.cost_line import ALL, NONE, CostLine, across, fit, residual

H = 10.0
FLAT = CostLine(3, 1.0, 20.0, 4.0, 20.0)


def test_a_line_between_two_points_is_read_anywhere_on_it():
    line = CostLine(2, 1.0, 12.0, 3.0, 16.0)
    assert [line.step_ms(a) for a in (1.0, 2.0, 3.0)] == [12.0, 14.0, 16.0]
    assert line.speedup(2.0, H) == pytest.approx(20 / 14)


def test_break_even_is_where_a_plain_step_s_time_buys_the_step():
    assert FLAT.break_even_a(H) == pytest.approx(2.0)
    leaning = CostLine(3, 1.0, 20.0, 4.0, 26.0)
    even = leaning.break_even_a(H)
    assert leaning.speedup(even, H) == pytest.approx(1.0)
    assert CostLine(3, 1.0, 45.0, 4.0, 45.0).break_even_a(H) is None, "no draft can pay, however good"
    assert CostLine(1, 1.0, 9.0, 2.0, 9.0).break_even_a(H) == 1.0, "pays even with nothing accepted"


def test_medians_of_the_points_make_the_line_and_one_point_alone_makes_none():
    points = {(1, NONE): [(1.0, 9.0), (1.0, 11.0), (1.0, 90.0)], (1, ALL): [(2.0, 12.0)], (2, ALL): [(3.0, 15.0)], (3, NONE): []}
    (line,) = fit(points, {1: 2.5})
    assert line == CostLine(1, 1.0, 11.0, 2.0, 12.0, 2.5)


def test_the_cost_over_n_is_a_straight_line_through_the_middles():
    lines = [CostLine(n, 1.0, 5.0 + 3.0 * n, n + 1.0, 5.0 + 3.0 * n) for n in (1, 2, 3)]
    assert across(lines) == {"fixed_ms": pytest.approx(5.0), "per_token_ms": pytest.approx(3.0)}
    assert across(lines[:1]) is None


def test_the_residual_compares_v_where_d_is_known_on_both_sides():
    line = CostLine(3, 1.0, 20.0, 4.0, 20.0, d_ms=4.0)
    assert residual(line, 2.5, 21.6, 4.0) == (pytest.approx(0.1), "V")
    assert residual(line, 2.5, 22.0, None) == (pytest.approx(0.1), "D + V")
    assert residual(FLAT, 2.5, 18.0, 4.0) == (pytest.approx(-0.1), "D + V")
