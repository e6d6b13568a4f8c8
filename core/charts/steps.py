"""What a speculative step costs, in plain steps, against the draft length; with the slope, and what it commits on the same scale."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go

from core.charts.figure import curve_layout, figure_of
from core.charts.lines import SYMBOLS, palette


@dataclass(frozen=True)
class StepLine:
    """One row: n, (D + V) ÷ H and a of each measured length, and the slope in plain steps per draft token (None: one point only)."""

    name: str
    n: list[int]
    in_h: list[float]
    a: list[float]
    slope: float | None


def steps_figure(lines: list[StepLine], *, dark: bool, with_a: bool = False) -> go.Figure:
    """One line a row, from the plain step at n 0. `with_a`: what a step commits, dotted: it pays where that lies above."""
    colors, traces = palette(dark), []
    for place, line in enumerate(lines):
        slope = f" · slope {line.slope:+.2f} H a token" if line.slope is not None else ""
        look = {"color": colors[place % len(colors)], "symbol": SYMBOLS[place % len(SYMBOLS)], "dash": "solid"}
        traces.append(_trace(f"{line.name}{slope}", [0, *line.n], [1.0, *line.in_h], "a step costs %{y:.2f} plain steps", look))
        if with_a:
            look = {"color": colors[1], "symbol": SYMBOLS[1], "dash": "dot"}
            traces.append(_trace("tokens committed (a)", [0, *line.n], [1.0, *line.a], "a step commits %{y:.2f} tokens", look))
    y_title = "plain steps, tokens" if with_a else "D + V, in plain steps H"
    return figure_of(traces, curve_layout({"title": {"text": "n_max"}, "dtick": 1}, {"title": {"text": y_title}}))


def _trace(name: str, x: list[int], y: list[float], says: str, look: dict[str, str]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": x,
        "y": y,
        "name": escape(name),
        "mode": "lines+markers",
        "line": {"color": look["color"], "width": 2, "dash": look["dash"]},
        "marker": {"symbol": look["symbol"], "size": 9, "color": look["color"]},
        "hovertemplate": f"{escape(name)}<br>n_max %{{x}}: {says}<extra></extra>",
    }
