"""“How this is computed”: words first, then the formula and where it stands in the code."""

from __future__ import annotations

import streamlit as st

FORMULAS = {
    "speedup": (
        "Speed-up: the decode speed with speculation over the one without, same workload, same concurrency, same run. Medians"
        " of the warm repetitions.",
        "s = spec tok/s ÷ baseline tok/s",
        "core/domain/price.py, price_pair",
    ),
    "a": (
        "a: tokens that one speculative step commits, counted over all steps. The target's own token counts: a step that keeps"
        " no draft still commits one, so a lies between 1 and n_max + 1. Read as draft tokens only, the inequality would call a"
        " measured win a loss.",
        "a = (predicted_n − 1) ÷ (predicted_n − 1 − accepted)",
        "core/domain/price.py, tokens_per_step",
    ),
    "published_a": (
        "For published figures a comes from the share that was accepted, as if every step had proposed n_max tokens. Where the"
        " source does not say what the share counts, the denominator is assumed, and marked so.",
        "a = 1 + n_max × accepted share",
        "core/domain/price.py, tokens_per_step_from_share",
    ),
    "h": (
        "H: what one step costs without speculation. Above one stream, H and step costs are per stream.",
        "H = predicted_ms ÷ (predicted_n − 1) = 1000 ÷ baseline tok/s   [ms]",
        "core/domain/price.py, plain_step_ms",
    ),
    "step": (
        "D + V: what one speculative step costs, drafting and verifying together. D comes from the engine's own statistics;"
        " where it printed none, the two stay together.",
        "D + V = predicted_ms ÷ (predicted_n − 1 − accepted) = 1000 · a ÷ spec tok/s   [ms]",
        "core/domain/price.py, step_ms",
    ),
    "inequality": (
        "It pays when a token costs less than a plain step. Worked out from one run this is bookkeeping: it restates the speed-"
        " up and cannot fail. It is a forecast only with V taken from another run.",
        "(D + V) ÷ a < H   ⇔   s > 1",
        "core/domain/price.py, price_pair",
    ),
    "break_even": (
        "Break-even: the share of n_max proposed tokens that has to be accepted for a step to pay for itself. Above 100 % no"
        " draft can win.",
        "needed share = ((D + V) ÷ H − 1) ÷ n_max",
        "core/domain/price.py, break_even_accept_share",
    ),
    "split": (
        "The speed-up as factors: the best case n_max + 1, divided by what acceptance takes away, divided by what a step costs."
        " Exact, because the three multiply to s. The larger divisor is the dominant cost.",
        "s = (n_max + 1) ÷ ((n_max + 1) ÷ a) ÷ ((D + V) ÷ H)",
        "core/domain/price.py, _parts",
    ),
    "marginal": (
        "Marginal token: going from a shorter draft to this one pays when each token gained costs less than a token does at the shorter"
        " one. Off counts as a draft of length 0: H and one token a step.",
        "Δ(D + V) ÷ Δa < (D + V)(n) ÷ a(n)",
        "core/domain/break_even.py, going",
    ),
    "reject": (
        "Reject cost: the time lost on rejected drafts, for each committed token. An upper bound: it charges a rejected token its whole"
        " share of what the step costs above a plain one.",
        "(proposed − accepted) ÷ proposed × (D + V − H) ÷ a   [ms], at most",
        "core/domain/break_even.py, ledger_of",
    ),
    "projection": (
        "Shorter drafts, predicted: what a(k) would be, from the shares of drafts that got that far. A speed-up only where the cost of k"
        " was measured (the forced pass, else its own cell). Predicted figures order what to measure next and decide nothing.",
        "a(k) = 1 + P₁ + … + Pₖ;   predicted s = a(k) × H ÷ (D + V)(k)",
        "core/domain/projection.py, project",
    ),
    "noise": (
        "Wins and loses are said only beyond noise: an exact rank test over the warm repetitions (p ≤ 0.05; 3 against 3 reaches"
        " it only when every run of one side beats every run of the other) and at least 2 %. Single published figures: at least"
        " 2 %.",
        "▲ above · ▼ below · = no difference shown",
        "core/domain/stats.py, compare",
    ),
    "shade": (
        "Colour is the speed-up on a log scale from half to twice as fast. The framed tile is the row's best; tiles whose"
        " ranges overlap with the best share its shade, and the smaller n_max wins the tie. Baselines have no fill.",
        "colour = log2(s), clipped to −1 … 1",
        "core/charts/matrix.py, fill_of",
    ),
}


def computed(*names: str) -> None:
    """The expander with these formulas, in this order."""
    with st.expander("How this is computed"):
        for name in names:
            in_words, formula, where = FORMULAS[name]
            st.write(in_words)
            st.code(formula, language=None)
            st.caption(f"in {where}")
