"""What a speculative step costs, in plain steps, against the draft length; with the slope, and what it commits on the same scale."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import plotly.graph_objects as go

from core.charts.lines import SYMBOLS, palette

GREY = "#8A929C"


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
    figure = go.Figure()
    for place, line in enumerate(lines):
        color = palette(dark)[place % len(palette(dark))]
        slope = f" · slope {line.slope:+.2f} H a token" if line.slope is not None else ""
        _add(figure, f"{line.name}{slope}", [0, *line.n], [1.0, *line.in_h], color, "a step costs %{y:.2f} plain steps", place)
        if with_a:
            _add(
                figure,
                "tokens committed (a)",
                [0, *line.n],
                [1.0, *line.a],
                palette(dark)[1],
                "a step commits %{y:.2f} tokens",
                1,
                dash="dot",
            )
    figure.update_xaxes(title={"text": "n_max"}, dtick=1, zeroline=False, fixedrange=True)
    figure.update_yaxes(title={"text": "plain steps, tokens" if with_a else "D + V, in plain steps H"}, zeroline=False, fixedrange=True)
    figure.update_layout(
        height=340, margin={"l": 10, "r": 10, "t": 10, "b": 10}, dragmode=False, hovermode="closest", showlegend=True,
        legend={"orientation": "h", "yanchor": "top", "y": -0.25, "x": 0},
    )  # fmt: skip
    return figure


def _add(figure: go.Figure, name: str, x: list[int], y: list[float], color: str, says: str, place: int, *, dash: str = "solid") -> None:
    figure.add_scatter(
        x=x, y=y, name=escape(name), mode="lines+markers", line={"color": color, "width": 2, "dash": dash},
        marker={"symbol": SYMBOLS[place % len(SYMBOLS)], "size": 9, "color": color},
        hovertemplate=f"{escape(name)}<br>n_max %{{x}}: {says}<extra></extra>",
    )  # fmt: skip
