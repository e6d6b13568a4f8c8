"""A mix of workloads: time per token is weighted, and the share at which the answer turns is where the two sides are equal."""

from __future__ import annotations

import pytest

from core.domain.forms import checked
from core.domain.traffic import Load, TrafficShares, weigh
from core.errors import InvalidInput

CODE, CHAT = Load("code", 0.6, 40.0, 30.0), Load("chat", 0.4, 40.0, 50.0)


def test_time_per_token_is_weighted_not_speed():
    mix = weigh([CODE, CHAT])
    assert (mix.off_ms, mix.on_ms) == (40.0, pytest.approx(38.0))
    assert mix.speedup == pytest.approx(40 / 38) and mix.verdict == "wins"


def test_the_flip_is_where_both_sides_cost_the_same():
    flips = {flip.workload: flip for flip in weigh([CODE, CHAT]).flips}
    assert flips["code"].at == pytest.approx(0.5) and flips["code"].pays_above
    assert flips["chat"].at == pytest.approx(0.5) and not flips["chat"].pays_above
    for share in (flips["code"].at - 0.01, flips["code"].at + 0.01):
        turned = weigh([Load("code", share, 40.0, 30.0), Load("chat", 1 - share, 40.0, 50.0)])
        assert (turned.on_ms < turned.off_ms) is (share > 0.5)


def test_with_three_workloads_the_others_keep_their_proportion():
    loads = [Load("code", 0.2, 40.0, 30.0), Load("chat", 0.6, 40.0, 44.0), Load("tools", 0.2, 40.0, 48.0)]
    mix = weigh(loads)
    (flip,) = [flip for flip in mix.flips if flip.workload == "code"]
    rest = (0.6 * 4 + 0.2 * 8) / 0.8
    assert flip.at == pytest.approx(rest / (rest + 10)) and mix.speedup < 1
    x = flip.at
    even = weigh([Load("code", x, 40.0, 30.0), Load("chat", 0.75 * (1 - x), 40.0, 44.0), Load("tools", 0.25 * (1 - x), 40.0, 48.0)])
    assert even.on_ms == pytest.approx(even.off_ms)


def test_no_flip_where_every_workload_says_the_same():
    assert weigh([CODE, Load("chat", 0.4, 40.0, 39.0)]).flips == []
    assert weigh([Load("code", 1.0, 40.0, 30.0)]).flips == []


def test_a_workload_with_the_whole_traffic_still_tells_where_it_would_turn():
    (code, chat) = weigh([Load("code", 1.0, 40.0, 30.0), Load("chat", 0.0, 40.0, 50.0)]).flips
    assert (code.at, chat.at) == (pytest.approx(0.5), pytest.approx(0.5))


@pytest.mark.parametrize("shares", [{}, {"a": 0.5}, {"a": 0.6, "b": 0.6}, {"a": -0.5, "b": 1.5}, {"a": float("nan"), "b": 1.0}, {"": 1.0}])
def test_shares_that_are_none(shares):
    with pytest.raises(InvalidInput):
        checked(TrafficShares, {"shares": shares})


def test_the_sum_is_named():
    with pytest.raises(InvalidInput) as refused:
        checked(TrafficShares, {"shares": {"code": 0.6, "chat": 0.3}})
    assert refused.value.problems == {"shares": "have to sum to 100 %; they sum to 90.0%."}
