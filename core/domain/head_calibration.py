"""Acceptance of a draft head against how much text it had before it: single answers, and bands of context. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

_FIRST_BAND = 128


class Heard(NamedTuple):
    """One answer: tokens of context when it began (its prompt, cached part included), draft tokens accepted and proposed."""

    context: int
    accepted: int
    proposed: int

    @property
    def share(self) -> float:
        """Accepted of proposed."""
        return self.accepted / self.proposed


class Band(NamedTuple):
    """All answers whose context lies in `low` … `high` tokens."""

    low: int
    high: int
    answers: int
    accepted: int
    proposed: int


def heard_in(sample: dict[str, Any]) -> list[Heard]:
    """The answers of one repetition, a tool loop's turns each by itself; those without counts are left out."""
    answers = [turn for stream in sample.get("streams") or [] for turn in stream.get("turns") or [stream]]
    found = [_heard(answer.get("timings") or {}) for answer in answers]
    return [one for one in found if one is not None]


def _heard(timings: dict[str, Any]) -> Heard | None:
    counts = [timings.get(key) for key in ("prompt_n", "draft_n_accepted", "draft_n")]
    if not all(isinstance(count, int) and not isinstance(count, bool) and count >= 0 for count in counts):
        return None
    prompt, accepted, proposed = (int(count or 0) for count in counts)
    cached = timings.get("cache_n")
    context = prompt + (cached if isinstance(cached, int) and cached > 0 else 0)
    return Heard(context, accepted, proposed) if context and 0 < proposed >= accepted else None


def bands(heard: Iterable[Heard]) -> list[Band]:
    """Up to 128 tokens, then each twice as long as the one before; empty ones are left out."""
    found: dict[int, list[Heard]] = {}
    for one in heard:
        high = _FIRST_BAND
        while one.context > high:
            high *= 2
        found.setdefault(high, []).append(one)
    return [
        Band(
            high // 2 + 1 if high > _FIRST_BAND else 1,
            high,
            len(some),
            sum(one.accepted for one in some),
            sum(one.proposed for one in some),
        )
        for high, some in sorted(found.items())
    ]
