"""Boxes that exist only on paper: what a step costs, what is accepted, how the figures shake and wander. Pure Python, seeded.

Times of a step in units of H, the plain step. Drafting n tokens runs the draft n times, so a step costs
1 + fixed + n · (D + V'), with V' the marginal verification of a token and a jump at one n where the kernel changes.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from functools import cached_property

TOKENS = 256  # decode tokens of one repetition, one stream
LONGEST = 8


@dataclass(frozen=True)
class Box:
    """One box. `decay`: conditional acceptance q falls by this factor a position; `noise`: share, one standard deviation."""

    h_ms: float
    d: float
    fixed: float
    marginal: float
    kernel_at: int
    kernel_step: float
    first: float
    decay: float
    noise: float
    shape: str
    drift: float
    pace_s: float
    load_s: float
    production_c: int
    drafts_at_once: bool = False

    @cached_property
    def per_position(self) -> list[float]:
        """P_i, unconditional."""
        rates, all_so_far = [], 1.0
        for place in range(LONGEST):
            all_so_far *= self.first * self.decay**place
            rates.append(all_so_far)
        return rates

    def step_in_h(self, n: int, c: int = 1) -> float:
        """One step of all c streams: every stream adds n + 1 tokens to the target's pass, the first of all is in H already."""
        tokens = c * (n + 1) - 1
        jump = self.kernel_step if self.kernel_at and n >= self.kernel_at else 0.0
        draft = self.d * (1 if self.drafts_at_once else n) + self.fixed + jump if n else 0.0
        return 1.0 + tokens * self.marginal + draft

    def speed(self, n: int, c: int = 1) -> float:
        """True tok/s of all streams together, before any drift."""
        return 1000.0 * c * (1.0 + sum(self.per_position[:n])) / (self.step_in_h(n, c) * self.h_ms)

    def best_n(self, c: int = 1) -> int:
        """The fastest n, off included; the smaller one of equals."""
        return max(range(LONGEST + 1), key=lambda n: (self.speed(n, c), -n))

    def gain(self, n: int, c: int) -> float:
        """True gain of n over off at c streams, as a share."""
        return self.speed(n, c) / self.speed(0, c) - 1.0

    def moved(self, at_s: float) -> float:
        """Factor on every speed at this moment: heat levels off, another load creeps in."""
        if self.shape == "heat":
            return 1.0 - self.drift * (1.0 - math.exp(-at_s / self.pace_s))
        if self.shape == "creep":
            return 1.0 - self.drift * min(1.0, at_s / (3.0 * self.pace_s))
        return 1.0


def draw(chance: random.Random, *, drafts_at_once: bool = False) -> Box:
    """One box: ranges as the protocol's target names them, every range evenly; half of the boxes do not drift."""
    h_ms, d, fixed, marginal = chance.uniform(2, 100), chance.uniform(0.02, 0.9), chance.uniform(0, 0.8), chance.uniform(0.03, 1.0)
    kernel_at = chance.randint(2, LONGEST) if chance.random() < 0.2 else 0
    shape = chance.choice(("none", "none", "heat", "creep"))
    sweep_s = 30 * TOKENS * h_ms / 1000.0
    return Box(
        h_ms, d, fixed, marginal, kernel_at, chance.uniform(0.1, 0.6), chance.uniform(0.4, 1.0), chance.uniform(0.8, 1.0),
        noise=chance.uniform(0.003, 0.05), shape=shape, drift=chance.uniform(0, 0.15), pace_s=sweep_s * chance.uniform(0.1, 0.5),
        load_s=chance.uniform(1, 30), production_c=chance.choice((1, 2, 4)), drafts_at_once=drafts_at_once,
    )  # fmt: skip
