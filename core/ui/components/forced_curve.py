"""“Speed-up against a” of a run's forced-acceptance pass, its real cells on it; used on the receipt and below the matrix."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.charts.gain import GainLine, gain_figure
from core.services.forecast import cost_lines, speedup_curve
from core.services.house import House
from core.ui.components.figures import plain, speedup
from core.ui.components.theme import is_dark


def forced_curve(house: House, run_id: str, *, key: str) -> bool:
    """Draws it; False where the run had no such pass (nothing is drawn then)."""
    curve = speedup_curve(house, run_id)
    if curve["state"] != "ok":
        return False
    figure = gain_figure([_line(one) for one in curve["lines"]], dark=is_dark())
    st.plotly_chart(figure, key=key, config={"displayModeBar": False}, alt="; ".join(says(one) for one in curve["lines"]))
    st.caption("Dashed: foretold by the forced pass (synthetic, its text is invalid, no decision rests on it). Marks: measured.")
    for one in curve["lines"]:
        st.text(says(one))
    return True


def has_pass(house: House, run_id: str) -> bool:
    """Whether the run holds a forced-acceptance pass with at least one cost line."""
    return bool(cost_lines(house, run_id))


def _line(one: dict[str, Any]) -> GainLine:
    real = one["real"]
    return GainLine(one["n_max"], one["a"], one["speedup"], (real["a"], real["speedup"]) if real and real["speedup"] else None)


def says(one: dict[str, Any]) -> str:
    """One n in words: whether a better draft could ever pay, and where the real one stands."""
    could = f"pays from {plain(one['break_even_a'])} tokens a step on" if one["can_pay"] else "can never pay, with every guess right"
    real = one["real"]
    return f"n_max {one['n_max']} {could}; " + (
        f"measured {plain(real['a'])} tokens, {speedup(real['speedup'])}" if real else "not measured with its own draft"
    )
