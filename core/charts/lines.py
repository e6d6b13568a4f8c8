"""Small line charts over the matrix: speed-up against spill, acceptance against n, step cost in plain steps against n."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import plotly.graph_objects as go

from core.charts.figure import curve_layout, figure_of

PALETTE = ("#2166AC", "#B35806", "#5E3C99", "#1B7837", "#762A83", "#8C510A", "#01665E", "#C51B7D")
PALETTE_DARK = ("#92C5DE", "#F1A340", "#B2ABD2", "#7FBF7B", "#C2A5CF", "#DFC27D", "#80CDC1", "#F1B6DA")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "hexagon")


@dataclass(frozen=True)
class Series:
    """One line; a y of None leaves a gap. `notes` are shown on hover beside the values."""

    name: str
    x: list[float]
    y: list[float | None]
    notes: list[str]


def palette(dark: bool) -> tuple[str, ...]:
    """Line colours that read on the theme's ground; the marker's form tells lines apart as well."""
    return PALETTE_DARK if dark else PALETTE


def line_figure(
    series: list[Series],
    *,
    x_title: str,
    y_title: str,
    dark: bool,
    even: float | None = None,
    percent: bool = False,
    from_zero: bool = False,
) -> go.Figure:
    """Lines with markers; `even` draws the level at which nothing is won or lost."""
    traces = []
    for index, one in enumerate(series):
        color = palette(dark)[index % len(PALETTE)]
        traces.append(
            {
                "type": "scatter",
                "x": one.x,
                "y": one.y,
                "name": escape(one.name),
                "mode": "lines+markers",
                "line": {"color": color, "width": 2},
                "marker": {"symbol": SYMBOLS[index % len(SYMBOLS)], "size": 9, "color": color},
                "customdata": [[escape(note)] for note in one.notes],
                "hovertemplate": "%{customdata[0]}<extra></extra>",
            }
        )
    steps = {"dtick": 1} if x_title.startswith(("n_max", "c ")) else {}
    floor = {"rangemode": "tozero"} if from_zero else {}
    level = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": even, "y1": even}
    shapes = [] if even is None else [{**level, "line": {"dash": "dot", "width": 1, "color": "#8A929C"}}]
    x, y = {"title": {"text": x_title}, **steps}, {"title": {"text": y_title}, "tickformat": ".0%" if percent else None, **floor}
    return figure_of(traces, curve_layout(x, y, shapes=shapes))
