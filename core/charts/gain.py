"""Speed-up against a from a forced-acceptance pass, a line for each n, the real cells dropped on it: could a better draft ever pay?"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import plotly.graph_objects as go

from core.charts.lines import SYMBOLS, palette

GREY = "#8A929C"


@dataclass(frozen=True)
class GainLine:
    """One n: tokens committed from none to all accepted, and the speed-up foretold for each; `real`: (a, measured speed-up) or None."""

    n_max: int
    a: list[float]
    speedup: list[float]
    real: tuple[float, float] | None


def gain_figure(lines: list[GainLine], *, dark: bool) -> go.Figure:
    """Dashed lines are foretold from forced acceptance, filled marks are measured."""
    figure = go.Figure()
    for place, line in enumerate(lines):
        color = palette(dark)[place % len(palette(dark))]
        name = f"n_max {line.n_max}"
        figure.add_scatter(
            x=line.a, y=line.speedup, name=f"{name}, forced", mode="lines", line={"color": color, "width": 2, "dash": "dash"},
            hovertemplate=escape(name) + ": a %{x:.2f} would give %{y:.2f}×<extra></extra>",
        )  # fmt: skip
        if line.real:
            figure.add_scatter(
                x=[line.real[0]], y=[line.real[1]], name=f"{name}, measured", mode="markers",
                marker={"size": 12, "color": color, "symbol": SYMBOLS[place % len(SYMBOLS)]},
                hovertemplate=escape(name) + ": measured a %{x:.2f}, %{y:.2f}×<extra></extra>",
            )  # fmt: skip
    figure.add_hline(
        y=1.0,
        line={"width": 1, "dash": "dot", "color": GREY},
        annotation={"text": "pays above", "font": {"size": 11}},
        annotation_position="top left",
    )
    figure.update_xaxes(title={"text": "a: tokens committed per step"}, zeroline=False, fixedrange=True)
    figure.update_yaxes(title={"text": "speed-up"}, tickformat=".2f", zeroline=False, fixedrange=True)
    figure.update_layout(
        height=340, margin={"l": 10, "r": 24, "t": 20, "b": 10}, dragmode=False, hovermode="closest", showlegend=True,
        legend={"orientation": "h", "yanchor": "top", "y": -0.25, "x": 0},
    )  # fmt: skip
    return figure
