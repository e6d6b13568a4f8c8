"""Several workloads weighted by their share of the traffic: what a token costs then, and where the answer flips.

Times are ms per committed token of one stream, shares are of tokens and sum to 1. Pure arithmetic on medians: noise is judged per
workload, not here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field, field_validator

from core.domain.forms import Name, Record, Share
from core.domain.price import verdict_of

TOLERANCE = 0.005


class TrafficShares(Record):
    """Workload → share of the tokens served, 0 to 1."""

    shares: dict[Name, Share] = Field(min_length=1, max_length=20)

    @field_validator("shares")
    @classmethod
    def _sum_is_one(cls, value: dict[str, float]) -> dict[str, float]:
        total = sum(value.values())
        if abs(total - 1.0) > TOLERANCE:
            raise ValueError(f"have to sum to 100 %; they sum to {total:.1%}.")
        return value


@dataclass(frozen=True)
class Load:
    """One workload: its share and what a token costs with speculation off and on, ms."""

    workload: str
    share: float
    off_ms: float
    on_ms: float

    @property
    def gain_ms(self) -> float:
        """Time saved per token; negative where speculation costs."""
        return self.off_ms - self.on_ms


@dataclass(frozen=True)
class Flip:
    """The share of one workload at which the weighted answer turns, the others in proportion. `pays_above`: it pays beyond it."""

    workload: str
    share: float
    at: float
    pays_above: bool


@dataclass(frozen=True)
class Weighted:
    """The mix: ms per token off and on, speed-up, wins | loses | no-difference, and where that flips."""

    off_ms: float
    on_ms: float
    speedup: float
    verdict: str
    flips: list[Flip]


def weigh(loads: Sequence[Load]) -> Weighted:
    """Weights time per token, not tok/s: a mix spends its time where tokens are slow. Needs at least one load and shares that sum to 1."""
    off, on = (sum(load.share * ms for load, ms in zip(loads, times, strict=True)) for times in _times(loads))
    return Weighted(off, on, off / on, verdict_of(off / on), [flip for load in loads if (flip := _flip(load, loads))])


def _times(loads: Sequence[Load]) -> tuple[list[float], list[float]]:
    return [load.off_ms for load in loads], [load.on_ms for load in loads]


def _flip(load: Load, loads: Sequence[Load]) -> Flip | None:
    """x · gain + (1 − x) · gain of the rest = 0; None where the two have the same sign, so that no share turns the answer."""
    rest = [other for other in loads if other is not load]
    if not rest:
        return None
    weight = sum(other.share for other in rest)
    others = sum(other.share * other.gain_ms for other in rest) / weight if weight > 0 else sum(other.gain_ms for other in rest) / len(rest)
    if load.gain_ms * others >= 0:
        return None
    return Flip(load.workload, load.share, others / (others - load.gain_ms), load.gain_ms > 0)
