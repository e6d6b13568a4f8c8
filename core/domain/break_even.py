"""The break-even ledger of one priced pair: every part in ms and in plain steps, what a draft would have to reach, where the gain went.

Pure. Built from a `Price`; where acceptance was not recorded the ledger holds bounds and says so, never a guess.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from core.domain.price import Price, break_even_accept_share

ACCEPTANCE, VERIFY, DRAFT, BOTH = "acceptance", "verify", "draft", "verify+draft"
REJECT_NOTE = "upper bound: as if every rejected token had cost its full share of the step"


@dataclass(frozen=True)
class Factor:
    """One factor of the speed-up. `log`: its part of ln s, signed (a cost is negative); `factor`: e to that power."""

    name: str
    log: float
    factor: float


@dataclass(frozen=True)
class Point:
    """One draft length of a row: what a step costs (ms) and commits (tokens). n 0 is the baseline: H and 1."""

    n_max: int
    step_ms: float
    a: float


@dataclass(frozen=True)
class Marginal:
    """Going from one draft length to a longer one, a step. `ms_per_token`: added time over added tokens, None where no token came."""

    from_n: int
    to_n: int
    added_ms: float
    added_a: float
    ms_per_token: float | None
    present_ms: float
    pays: bool


@dataclass(frozen=True)
class Ledger:
    """Times in ms, `…_in_h` in plain steps, shares 0-1, None where it cannot be known. `can_win`: None where it cannot be decided.

    Bounds: `step_ms_min/max`, `needed_share_min/max`, `got_share_min/max` hold for every acceptance the figures allow.
    """

    n_max: int
    speedup: float
    verdict: str
    h_ms: float
    per_token_ms: float
    margin_ms: float
    margin_share: float
    d_ms: float | None
    d_in_h: float | None
    v_ms: float | None
    v_in_h: float | None
    step_ms: float | None
    step_in_h: float | None
    step_ms_min: float
    step_ms_max: float
    a: float | None
    a_in_h_needed: float | None
    a_min: float
    a_max: float
    needed_share: float | None
    needed_share_min: float
    needed_share_max: float
    got_share: float | None
    got_share_min: float
    got_share_max: float
    can_win: bool | None
    split: list[Factor] = field(default_factory=list)
    dominant: str | None = None
    marginal: Marginal | None = None
    reject_cost_ms: float | None = None
    reject_note: str = REJECT_NOTE
    sentence: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain values, for the command line, the API and the receipt."""
        return asdict(self)


def ledger_of(price: Price, n_max: int, *, others: list[Point] | None = None) -> Ledger:
    """The ledger of a pair. `others`: the row's other draft lengths with known a, for the marginal token.

    Shares are of n_max proposed tokens a step, which is what a says: share = (a − 1) ÷ n_max.
    """
    per_token = price.h_ms / price.speedup
    a_min = price.a if price.a is not None else max(1.0, min(price.speedup, n_max + 1.0))
    a_max = price.a if price.a is not None else n_max + 1.0
    low, high = per_token * a_min, per_token * a_max
    needed = None if price.a is None else break_even_accept_share(high / price.h_ms, n_max)
    bounds = [break_even_accept_share(step / price.h_ms, n_max) for step in (low, high)]
    got = [_share(a, n_max) for a in (a_min, a_max)]
    ledger = Ledger(
        n_max=n_max, speedup=price.speedup, verdict=price.verdict, h_ms=price.h_ms, per_token_ms=per_token,
        margin_ms=price.h_ms - per_token, margin_share=1.0 - 1.0 / price.speedup, d_ms=price.d_ms, d_in_h=_in_h(price.d_ms, price),
        v_ms=price.v_ms, v_in_h=_in_h(price.v_ms, price), step_ms=price.step_ms, step_in_h=price.step_in_h, step_ms_min=low,
        step_ms_max=high, a=price.a, a_in_h_needed=price.step_in_h, a_min=a_min, a_max=a_max, needed_share=needed,
        needed_share_min=bounds[0], needed_share_max=bounds[1], got_share=None if price.a is None else got[0], got_share_min=got[0],
        got_share_max=got[1], can_win=_can_win(bounds[0], bounds[1]), split=split_of(price), dominant=price.dominant,
        marginal=marginal_of(price, n_max, others or []), reject_cost_ms=_reject_cost(price, n_max),
    )  # fmt: skip
    return replace(ledger, sentence=sentence_of(ledger))


def _in_h(part: float | None, price: Price) -> float | None:
    return None if part is None else part / price.h_ms


def _share(a: float, n_max: int) -> float:
    return (a - 1.0) / n_max


def _can_win(least: float, most: float) -> bool | None:
    """Whether some draft could win at this step cost: yes below 100 %, no above, open where the bounds lie on both sides."""
    return True if most <= 1.0 else False if least > 1.0 else None


def split_of(price: Price) -> list[Factor]:
    """ln s = best case − acceptance − cost, exactly; verify and draft apart where D is known. Empty without recorded acceptance."""
    if price.parts is None:
        return []
    costs = (BOTH,) if price.parts[VERIFY] is None else (VERIFY, DRAFT)
    logs = [("best case", price.parts["best_case"]), *((name, price.parts[name]) for name in (ACCEPTANCE, *costs))]
    signed = [(name, value if name == "best case" else -value) for name, value in logs if value is not None]
    return [Factor(name, value, math.exp(value)) for name, value in signed]


def marginal_of(price: Price, n_max: int, others: list[Point]) -> Marginal | None:
    """The last position(s) of this draft against the next shorter measured one; the baseline (n 0: H, one token) counts as one."""
    if price.a is None or price.step_ms is None:
        return None
    shorter = [Point(0, price.h_ms, 1.0), *(one for one in others if 0 < one.n_max < n_max)]
    return going(max(shorter, key=lambda one: one.n_max), Point(n_max, price.step_ms, price.a))


def going(start: Point, end: Point) -> Marginal:
    """n → n + 1 pays ⇔ Δ(D + V) ÷ Δa < (D + V)(n) ÷ a(n)."""
    ms, tokens, present = end.step_ms - start.step_ms, end.a - start.a, start.step_ms / start.a
    each = ms / tokens if tokens > 0 else None
    return Marginal(start.n_max, end.n_max, ms, tokens, each, present, each is not None and each < present)


def slope_of(points: list[Point], h_ms: float) -> float | None:
    """What one draft token more adds to a step, in plain steps: least squares over the lengths measured; None with fewer than two."""
    spec = [one for one in points if one.n_max > 0]
    used = spec if len(spec) > 1 else [Point(0, h_ms, 1.0), *spec]
    if len(used) < 2:
        return None
    mean_n, mean_cost = (sum(values) / len(used) for values in ([one.n_max for one in used], [one.step_ms / h_ms for one in used]))
    spread = sum((one.n_max - mean_n) ** 2 for one in used)
    return sum((one.n_max - mean_n) * (one.step_ms / h_ms - mean_cost) for one in used) / spread if spread else None


def _reject_cost(price: Price, n_max: int) -> float | None:
    """Upper bound of the time lost on rejected drafts, ms per committed token; never below 0."""
    if price.a is None or price.step_ms is None:
        return None
    return max(0.0, (1.0 - _share(price.a, n_max)) * (price.step_ms - price.h_ms) / price.a)


def sentence_of(ledger: Ledger) -> str:
    """What happened, for somebody who bounces off formulas."""
    guesses = "one token" if ledger.n_max == 1 else f"{ledger.n_max} tokens"
    pace = _pace(ledger)
    if ledger.step_in_h is None or ledger.a is None:
        bounds = f"a step brings {ledger.a_min:.1f} to {ledger.a_max:.0f} tokens and costs at most {ledger.step_ms_max / ledger.h_ms:.1f}"
        return f"The draft guesses {guesses} ahead. How many were right was not recorded: {bounds} plain steps. {pace}"
    lead = (
        f"The draft guesses {guesses} ahead; a step brings {ledger.a:.1f} tokens and takes as long as {ledger.step_in_h:.1f} plain steps."
    )
    return f"{lead} {pace}{_outlook(ledger)}"


def _pace(ledger: Ledger) -> str:
    change = abs(ledger.speedup - 1.0)
    if ledger.verdict == "no-difference":
        return "Text comes out no faster and no slower, as far as these runs can tell."
    return f"Text comes out {change:.0%} {'faster' if ledger.speedup > 1 else 'slower'}."


def _outlook(ledger: Ledger) -> str:
    if ledger.can_win is False:
        return " Even a draft that is always right could not win at this cost."
    if ledger.verdict == "loses" and ledger.needed_share is not None:
        return f" {ledger.needed_share:.0%} of the guesses would have to be right; {ledger.got_share:.0%} were."
    return ""
