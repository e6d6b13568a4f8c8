"""The break-even ledger on every worked row: parts in ms and in plain steps, exact split, bounds, marginal token, sentence."""

import math

import pytest

from core.domain.break_even import Point, going, ledger_of, slope_of
from core.domain.price import price_pair, tokens_per_step_from_share

# row, n, spec, baseline, share, D+V ms, in H, needed share, can win
ROWS = [
    ("Q8 24 spilled", 3, 16.6, 19.3, 0.82, 208.43, 4.02, 1.008, False),
    ("Q8 14 spilled", 1, 26.3, 22.2, 1.00, 76.05, 1.69, 0.688, True),
    ("Q8 14 spilled", 2, 21.6, 22.2, 0.89, 128.70, 2.86, 0.929, True),
    ("Q8 14 spilled", 3, 18.8, 22.2, 0.78, 177.66, 3.94, 0.981, True),
    ("Q3 10 spilled", 1, 30.5, 23.5, 1.00, 65.57, 1.54, 0.541, True),
    ("Q3 10 spilled", 2, 24.8, 23.5, 0.93, 115.32, 2.71, 0.855, True),
]


def priced(n, spec, base, share, **more):
    return price_pair(base, spec, n, a=tokens_per_step_from_share(n, share), **more)


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r[0]} n={r[1]}")
def test_every_worked_row(row):
    _, n, spec, base, share, step, in_h, needed, can_win = row
    found = ledger_of(priced(n, spec, base, share), n)
    assert (round(found.step_ms, 2), round(found.step_in_h, 2), round(found.needed_share, 3)) == (step, in_h, needed)
    assert found.got_share == pytest.approx(share) and found.can_win is can_win
    assert found.margin_ms == pytest.approx(1000 / base - 1000 / spec) and (found.margin_ms > 0) is (spec > base)
    assert (found.needed_share < share) is (spec > base), "needed against got says the same as the two speeds"
    assert math.prod(part.factor for part in found.split) == pytest.approx(spec / base)
    assert sum(part.log for part in found.split) == pytest.approx(math.log(spec / base), abs=1e-12)
    assert found.dominant == "verify+draft" and [part.name for part in found.split] == ["best case", "acceptance", "verify+draft"]


def test_a_known_draft_cost_is_shown_in_ms_and_in_plain_steps():
    found = ledger_of(price_pair(1000 / 14.4, 1000 / 8.9348, 2, a=2.30, d_ms=4.69), 2)
    assert (found.d_ms, round(found.v_ms, 2)) == (4.69, 15.86)
    assert found.d_in_h + found.v_in_h == pytest.approx(found.step_in_h)
    assert [part.name for part in found.split] == ["best case", "acceptance", "verify", "draft"]


def test_unrecorded_acceptance_gives_bounds_and_no_guess():
    found = ledger_of(price_pair(27.0, 59.3, 3), 3)
    assert (round(found.a_min, 2), found.a_max) == (2.20, 4.0)
    assert (round(found.step_ms_max, 2), round(found.step_ms_max / found.h_ms, 2)) == (67.45, 1.82)
    assert (round(found.needed_share_min, 3), round(found.needed_share_max, 3)) == (0.0, 0.274)
    assert (round(found.got_share_min, 3), found.got_share_max) == (0.399, 1.0)
    assert found.needed_share is None and found.got_share is None and found.split == [] and found.marginal is None
    assert found.reject_cost_ms is None and found.dominant is None
    assert found.can_win is True, "whatever was accepted, less would have done"
    assert "was not recorded" in found.sentence and "120% faster" in found.sentence


def test_a_loss_with_unrecorded_acceptance_leaves_open_whether_a_draft_could_win():
    assert ledger_of(price_pair(20.0, 15.0, 2), 2).can_win is None


def test_marginal_token_of_the_worked_row():
    points = [Point(1, 76.05, 2.00), Point(2, 128.70, 2.78), Point(3, 177.66, 3.34)]
    first = ledger_of(priced(1, 26.3, 22.2, 1.0), 1, others=points).marginal
    assert (first.from_n, first.to_n, first.pays) == (0, 1, True) and first.ms_per_token == pytest.approx(31.0, abs=0.05)
    second = ledger_of(priced(2, 21.6, 22.2, 0.89), 2, others=points).marginal
    assert (second.from_n, second.to_n, second.pays) == (1, 2, False)
    assert second.ms_per_token == pytest.approx(67.5, abs=0.1) and second.present_ms == pytest.approx(38.0, abs=0.05)


def test_a_longer_draft_that_brings_no_token_never_pays():
    found = going(Point(1, 50.0, 1.8), Point(2, 60.0, 1.8))
    assert found.ms_per_token is None and found.pays is False


def test_reject_cost_is_an_upper_bound_and_never_negative():
    found = ledger_of(priced(3, 18.8, 22.2, 0.78), 3)
    assert found.reject_cost_ms == pytest.approx((1 - 0.78) * (177.66 - 45.05) / 3.34, rel=1e-3) and "upper bound" in found.reject_note
    assert ledger_of(price_pair(10.0, 40.0, 3, a=3.0), 3).reject_cost_ms == 0.0


@pytest.mark.parametrize(
    "n, spec, base, share, words",
    [
        (1, 26.3, 22.2, 1.0, ("one token ahead", "2.0 tokens", "1.7 plain steps", "18% faster")),
        (3, 16.6, 19.3, 0.82, ("3 tokens ahead", "14% slower", "always right could not win")),
        (3, 18.8, 22.2, 0.78, ("15% slower", "98% of the guesses would have to be right; 78% were")),
        (2, 22.3, 22.2, 0.8, ("no faster and no slower",)),
    ],
)
def test_the_sentence_needs_no_formula(n, spec, base, share, words):
    sentence = ledger_of(priced(n, spec, base, share), n).sentence
    assert all(word in sentence for word in words), sentence
    assert not any(sign in sentence for sign in ("D +", "V(", "÷", "<"))


def test_the_slope_of_the_step_cost():
    points = [Point(1, 76.05, 2.00), Point(2, 128.70, 2.78), Point(3, 177.66, 3.34)]
    assert slope_of(points, 45.05) == pytest.approx((177.66 - 76.05) / 2 / 45.05)
    assert slope_of(points[:1], 45.05) == pytest.approx(76.05 / 45.05 - 1.0), "from the plain step to the only length"
    assert slope_of([], 45.05) is None and slope_of([points[0], points[0]], 45.05) is None
