"""What a speculative step costs and whether it pays: `(D + V(n)) / a < H`.

Pure arithmetic, standard library only, Python 3.8: this file travels with the agent. `a` counts every token a step commits,
the target's own included; read as draft tokens only, the inequality would call a measured win a loss.
"""

import math
from dataclasses import dataclass, replace
from typing import Dict, Optional

NO_DIFFERENCE_BAND = 0.02  # a gain or loss under 2 % without repetitions is never called one


def decode_tok_per_s(predicted_ms: float, predicted_n: int) -> Optional[float]:
    """Decode rate of one request, first token excluded (it comes from the prompt pass). None where it cannot be formed."""
    if predicted_n < 2 or not predicted_ms > 0:
        return None
    return 1000.0 * (predicted_n - 1) / predicted_ms


def plain_step_ms(predicted_ms: float, predicted_n: int) -> Optional[float]:
    """H: cost of one step without speculation, ms. Counts may be sums over requests less one token for each."""
    return None if predicted_n < 2 or not predicted_ms > 0 else predicted_ms / (predicted_n - 1)


def steps_taken(predicted_n: int, accepted: int) -> int:
    """Target passes in decode: every token after the first that was not an accepted draft cost one."""
    return predicted_n - 1 - accepted


def tokens_per_step(predicted_n: int, accepted: int) -> Optional[float]:
    """a: tokens committed per step over all steps, with or without a draft. None where no step is left (misread counts)."""
    steps = steps_taken(predicted_n, accepted)
    return None if steps < 1 else (predicted_n - 1) / steps


def step_ms(predicted_ms: float, predicted_n: int, accepted: int) -> Optional[float]:
    """D + V(n): cost of one speculative step, ms."""
    steps = steps_taken(predicted_n, accepted)
    return None if steps < 1 or not predicted_ms > 0 else predicted_ms / steps


def tokens_per_step_from_share(n_max: int, accept_share: float) -> float:
    """a when every step proposes n_max tokens and `accept_share` of the proposed ones are accepted."""
    return 1.0 + n_max * accept_share


def tokens_per_step_from_positions(per_position: "list[float]") -> float:
    """a(n) = 1 + sum of P_i, P_i being the share of drafts accepted at least i + 1 tokens deep (unconditional)."""
    return 1.0 + sum(per_position)


def break_even_accept_share(step_in_h: float, n_max: int) -> float:
    """Share of n_max proposed tokens that has to be accepted for a step to pay for itself. Above 1: no draft can win."""
    return (step_in_h - 1.0) / n_max


def reject_cost_ms(proposed: int, accepted: int, step: float, h_ms: float, a: float) -> Optional[float]:
    """Upper bound of the time lost on rejected drafts, ms per committed token."""
    if proposed <= 0:
        return None
    return (proposed - accepted) / proposed * (step - h_ms) / a


def verdict_of(speedup: float) -> str:
    """wins | loses | no-difference, for two figures without repetitions."""
    if abs(speedup - 1.0) < NO_DIFFERENCE_BAND:
        return "no-difference"
    return "wins" if speedup > 1.0 else "loses"


@dataclass(frozen=True)
class Price:
    """One priced pair. Times in ms, shares 0-1, `parts` in natural logs. None: cannot be known from what was given."""

    speedup: float
    a: Optional[float]
    a_min: Optional[float]
    a_max: Optional[float]
    h_ms: float
    step_ms: Optional[float]
    step_ms_max: float
    step_in_h: Optional[float]
    d_ms: Optional[float]
    v_ms: Optional[float]
    break_even_accept_share: Optional[float]
    parts: Optional[Dict[str, Optional[float]]]
    dominant: Optional[str]
    verdict: str
    note: str

    def as_json(self) -> "dict[str, object]":
        """Its fields as they are; `parts` as a copy. (asdict copies every figure by itself, which is most of a matrix page's work.)"""
        return {**vars(self), "parts": None if self.parts is None else dict(self.parts)}


def price_pair(
    baseline_tok_s: float,
    spec_tok_s: float,
    n_max: int,
    *,
    a: Optional[float] = None,
    d_ms: Optional[float] = None,
    verdict: Optional[str] = None,
) -> Price:
    """Prices two decode rates (tok/s, same workload, same concurrency); `a` unknown gives bounds, never a guess.

    Raises ValueError when a rate is not positive, n_max < 1, a lies outside 1 … n_max + 1, or D exceeds the step.
    """
    _require(
        baseline_tok_s > 0 and spec_tok_s > 0 and math.isfinite(baseline_tok_s + spec_tok_s), "rates must be positive numbers of tok/s"
    )
    _require(n_max >= 1, "n_max must be at least 1")
    bounds = _bounds(baseline_tok_s, spec_tok_s, n_max, d_ms, verdict or verdict_of(spec_tok_s / baseline_tok_s))
    return bounds if a is None else _decided(bounds, n_max, a, 1000.0 * a / spec_tok_s)


def _bounds(baseline_tok_s: float, spec_tok_s: float, n_max: int, d_ms: Optional[float], verdict: str) -> Price:
    """Without acceptance: a pass over n + 1 tokens is not cheaper than a plain step, hence a >= s; a step commits at most n + 1."""
    speedup, h_ms = spec_tok_s / baseline_tok_s, 1000.0 / baseline_tok_s
    a_min, step_max = min(max(1.0, speedup), float(n_max + 1)), 1000.0 * (n_max + 1) / spec_tok_s
    return Price(
        speedup=speedup,
        a=None,
        a_min=a_min,
        a_max=float(n_max + 1),
        h_ms=h_ms,
        step_ms=None,
        step_ms_max=step_max,
        step_in_h=None,
        d_ms=d_ms,
        v_ms=None,
        break_even_accept_share=None,
        parts=None,
        dominant=None,
        verdict=verdict,
        note=_bounds_note(a_min, n_max, step_max / h_ms),
    )


def _decided(bounds: Price, n_max: int, a: float, step: float) -> Price:
    """With a known the bounds meet, and what follows from the cost of a step is known too."""
    _require(1.0 <= a <= n_max + 1 + 1e-9, "a step commits between 1 and %d tokens at n_max %d" % (n_max + 1, n_max))
    d_ms, in_h = bounds.d_ms, step / bounds.h_ms
    _require(d_ms is None or 0 <= d_ms <= step, "drafting cannot cost more than the whole step")
    parts = _parts(n_max, a, in_h, None if d_ms is None else d_ms / step)
    need = break_even_accept_share(in_h, n_max)
    return replace(
        bounds, a=a, a_min=a, a_max=a, step_ms=step, step_ms_max=step, step_in_h=in_h, v_ms=None if d_ms is None else step - d_ms,
        break_even_accept_share=need, parts=parts, dominant=_dominant(parts), note=_note(a, in_h, need, n_max, bounds.verdict),
    )  # fmt: skip


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise ValueError(sentence)


def _parts(n_max: int, a: float, in_h: float, d_share: Optional[float]) -> "Dict[str, Optional[float]]":
    """ln s = ln(n+1) - acceptance - (verify + draft), exactly; the cost part is split by D's share where D is known."""
    cost = math.log(in_h)
    return {
        "best_case": math.log(n_max + 1),
        "acceptance": math.log((n_max + 1) / a),
        "verify": None if d_share is None else cost * (1.0 - d_share),
        "draft": None if d_share is None else cost * d_share,
        "verify+draft": cost,
    }


def _dominant(parts: "Dict[str, Optional[float]]") -> str:
    names = ["acceptance", "verify+draft"] if parts["verify"] is None else ["acceptance", "verify", "draft"]
    return max(names, key=lambda name: parts[name] or 0.0)


def _note(a: float, in_h: float, need: float, n_max: int, verdict: str) -> str:
    ends = {
        "wins": "you get more than you pay.",
        "loses": "you pay more than you get.",
        "no-difference": "no difference is shown.",
    }
    lead = f"Each step commits {a:.2f} tokens and costs as much as {in_h:.2f} plain steps: {ends[verdict]}"
    if need > 1.0:
        return lead + f" No draft can win at n_max {n_max}: it would need {need:.1%} of the proposed tokens."
    if need <= 0.0:
        return lead + " A step cheaper than a plain one is unusual: check the counts and the baseline."
    return lead + f" It pays from {need:.1%} of the proposed tokens."


def _bounds_note(a_min: float, n_max: int, in_h_max: float) -> str:
    return (
        f"Acceptance was not recorded: a step commits between {a_min:.2f} and {n_max + 1} tokens"
        f" and costs at most {in_h_max:.2f} plain steps. Break-even and dominant cost cannot be told."
    )
