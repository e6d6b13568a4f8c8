"""Acceptance against context: which answers count, and bands with their own denominators."""

from __future__ import annotations

from typing import Any

import pytest

from core.charts.context import ticks_of
from core.domain.head_calibration import Band, Heard, bands, heard_in


def timings(prompt_n: Any, accepted: Any, proposed: Any, **more: Any) -> dict[str, Any]:
    return {"timings": {"prompt_n": prompt_n, "draft_n_accepted": accepted, "draft_n": proposed, **more}}


def test_every_turn_of_a_loop_has_its_own_context() -> None:
    loop = {"timings": {"prompt_n": 500}, "turns": [timings(100, 5, 10), timings(50, 8, 10, cache_n=350)]}
    assert heard_in({"streams": [timings(40, 0, 9), loop]}) == [Heard(40, 0, 9), Heard(100, 5, 10), Heard(400, 8, 10)]


@pytest.mark.parametrize("answer", [{}, {"timings": None}, timings(None, 1, 2), timings(9, 3, 2), timings(9, 0, 0), timings(0, 1, 2),
                                    timings(9, -1, 2), timings(9, True, 2), timings("9", 1, 2)])  # fmt: skip
def test_what_tells_no_counts_is_left_out_and_is_not_zero(answer: dict[str, Any]) -> None:
    assert heard_in({"streams": [answer]}) == [] == heard_in({})


@pytest.mark.parametrize(("contexts", "ticks"), [([64], [64, 128]), ([1], [1, 2]), ([64, 3000], [64, 256, 1024, 4096]),
                                                 ([10, 100_000], [8, 64, 512, 4096, 32768, 262144])])  # fmt: skip
def test_the_axis_says_whole_numbers_around_what_was_seen(contexts: list[int], ticks: list[int]) -> None:
    assert ticks_of(contexts) == ticks
    assert len(ticks) <= 6 and ticks[0] <= min(contexts) and max(contexts) <= ticks[-1]


def test_bands_double_and_add_up() -> None:
    found = bands([Heard(128, 1, 2), Heard(1, 1, 1), Heard(129, 0, 5), Heard(256, 5, 5), Heard(5000, 2, 4)])
    assert found == [Band(1, 128, 2, 2, 3), Band(129, 256, 2, 5, 10), Band(4097, 8192, 1, 2, 4)]
