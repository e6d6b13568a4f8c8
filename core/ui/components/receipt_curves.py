"""Curves of a receipt's row: what a step costs against the draft length, with its slope, and the speed-up against a."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.charts.price import speedup_figure
from core.charts.steps import StepLine, steps_figure
from core.domain.break_even import Point, slope_of
from core.services.explain import points_of
from core.services.house import House
from core.ui.components.forced_curve import forced_curve
from core.ui.components.theme import is_dark

View = dict[str, Any]
CHART = {"displayModeBar": False}


def curves(house: House, view: View) -> None:
    """Step cost of the whole row on the left, this cell's speed-up against a on the right."""
    points = points_of(view["row"])
    left, right = st.columns(2)
    with left:
        st.markdown("**Step cost against n_max**")
        line = step_line("a step costs", points, _h_ms(view))
        if line is None:
            st.text("Not drawn: it needs a baseline and one n_max with recorded acceptance.")
        else:
            st.plotly_chart(steps_figure([line], dark=is_dark(), with_a=True), key="receipt-steps", config=CHART, alt=spoken(line))
            st.caption("It pays where the dotted line (tokens a step commits) lies above the solid one (plain steps it costs).")
    with right:
        st.markdown("**Speed-up against a**")
        price = view["price"]
        if view["run"] and view["c"] == 1 and forced_curve(house, view["run"]["run_id"], key="receipt-forced"):
            return
        if price is None or price["a"] is None:
            st.text("Not drawn: without recorded acceptance the cost of a step is only bounded.")
            return
        figure = speedup_figure(view["n_max"], price["step_in_h"], price["a"], dark=is_dark(), name="this cell")
        st.plotly_chart(
            figure, key="receipt-gain", config=CHART, alt=f"speed-up against a; this cell commits {price['a']:.2f} tokens a step"
        )
        st.caption("The cell's own step cost with better or worse drafts. Bookkeeping: a forced-acceptance pass was not recorded here.")


def _h_ms(view: View) -> float:
    return next((cell["price"]["h_ms"] for cell in view["row"].values() if cell["price"]), 1.0)


def step_line(name: str, points: list[Point], h_ms: float) -> StepLine | None:
    """A row's step cost in plain steps; None without one priced length."""
    if not points:
        return None
    return StepLine(
        name, [one.n_max for one in points], [one.step_ms / h_ms for one in points], [one.a for one in points], slope_of(points, h_ms)
    )


def spoken(line: StepLine) -> str:
    """The same in words, for a screen reader."""
    steps = ", ".join(f"n_max {n}: {cost:.2f} plain steps" for n, cost in zip(line.n, line.in_h, strict=True))
    return f"{line.name}: {steps}" + (f"; slope {line.slope:+.2f} plain steps a token" if line.slope is not None else "")
