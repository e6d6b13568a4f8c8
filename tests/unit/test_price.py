"""Every worked row of the price table, and the edges of the arithmetic."""

import math

import pytest

from core.domain.price import price_pair, tokens_per_step_from_share

# row, n, spec, baseline, accept, s, a, H, D+V, in H, break-even
ROWS = [
    ("Q8 24 spilled", 3, 16.6, 19.3, 0.82, 0.860, 3.46, 51.81, 208.43, 4.02, 1.008),
    ("Q8 14 spilled", 1, 26.3, 22.2, 1.00, 1.185, 2.00, 45.05, 76.05, 1.69, 0.688),
    ("Q8 14 spilled", 2, 21.6, 22.2, 0.89, 0.973, 2.78, 45.05, 128.70, 2.86, 0.929),
    ("Q8 14 spilled", 3, 18.8, 22.2, 0.78, 0.847, 3.34, 45.05, 177.66, 3.94, 0.981),
    ("Q3 10 spilled", 1, 30.5, 23.5, 1.00, 1.298, 2.00, 42.55, 65.57, 1.54, 0.541),
    ("Q3 10 spilled", 2, 24.8, 23.5, 0.93, 1.055, 2.86, 42.55, 115.32, 2.71, 0.855),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r[0]} n={r[1]}")
def test_every_row_of_the_worked_table(row):
    _, n, spec, base, accept, s, a, h, step, in_h, need = row
    found = price_pair(base, spec, n, a=tokens_per_step_from_share(n, accept))
    assert round(found.speedup, 3) == s
    assert round(found.a, 2) == a
    assert round(found.h_ms, 2) == h
    assert round(found.step_ms, 2) == step
    assert round(found.step_in_h, 2) == in_h
    assert round(found.break_even_accept_share, 3) == need
    assert found.dominant == "verify+draft"


def test_unrecorded_acceptance_gives_bounds_and_no_guess():
    found = price_pair(27.0, 59.3, 3)
    assert round(found.speedup, 3) == 2.196
    assert (round(found.a_min, 2), found.a_max) == (2.2, 4.0)
    assert round(found.step_ms_max, 2) == 67.45
    assert round(found.step_ms_max / found.h_ms, 2) == 1.82
    assert found.a is None and found.step_ms is None and found.break_even_accept_share is None and found.dominant is None
    assert found.verdict == "wins"


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r[0]} n={r[1]}")
@pytest.mark.parametrize("d_share", [None, 0.2])
def test_the_parts_add_up_to_the_speed_up_exactly(row, d_share):
    _, n, spec, base, accept, *_ = row
    whole = price_pair(base, spec, n, a=tokens_per_step_from_share(n, accept))
    found = price_pair(base, spec, n, a=whole.a, d_ms=None if d_share is None else d_share * whole.step_ms)
    cost = found.parts["verify+draft"] if d_share is None else found.parts["verify"] + found.parts["draft"]
    assert math.isclose(found.parts["best_case"] - found.parts["acceptance"] - cost, math.log(found.speedup), abs_tol=1e-12)


def test_known_draft_cost_splits_the_step():
    found = price_pair(1000 / 14.4, 1000 / 8.9348, 2, a=2.30, d_ms=4.69)
    assert round(found.v_ms, 2) == 15.86
    assert found.v_ms + found.d_ms == pytest.approx(found.step_ms)


@pytest.mark.parametrize("ratio, verdict", [(1.019, "no-difference"), (0.981, "no-difference"), (1.021, "wins"), (0.979, "loses")])
def test_two_per_cent_is_never_a_win(ratio, verdict):
    assert price_pair(100.0, 100.0 * ratio, 1, a=1.9).verdict == verdict


@pytest.mark.parametrize(
    "base, spec, n, a, d",
    [
        (0, 1, 1, None, None),
        (1, -1, 1, None, None),
        (1, math.inf, 1, None, None),
        (1, 1, 0, None, None),
        (1, 1, 1, 2.5, None),
        (1, 1, 1, 0.9, None),
        (10, 10, 1, 1.5, 1e6),
    ],
)
def test_impossible_figures_are_refused(base, spec, n, a, d):
    with pytest.raises(ValueError):
        price_pair(base, spec, n, a=a, d_ms=d)
