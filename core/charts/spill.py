"""Speed-up against spill: one point a cell, n_max as colour, where it comes from as the point's form."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import plotly.graph_objects as go

from core.charts.lines import palette

FORMS = {"measured": "circle", "imported": "diamond", "transcribed": "square-open"}


@dataclass(frozen=True)
class Point:
    """One cell: `x` the spill (layers, or a share 0–1), `speedup`, and what stands on hover."""

    x: float
    speedup: float
    n_max: int
    provenance: str
    note: str


def spill_figure(points: list[Point], *, x_title: str, dark: bool, percent: bool) -> go.Figure:
    """Points only: a line would claim what lies between them. Below the dotted line speculation loses."""
    colors, lengths = palette(dark), sorted({point.n_max for point in points})
    traces = []
    for n_max in lengths:
        for provenance, form in FORMS.items():
            some = [point for point in points if (point.n_max, point.provenance) == (n_max, provenance)]
            if some:
                color = colors[lengths.index(n_max) % len(colors)]
                traces.append(
                    {
                        "type": "scatter",
                        "mode": "markers",
                        "name": f"n_max {n_max}, {provenance}",
                        "x": [point.x for point in some],
                        "y": [point.speedup for point in some],
                        "marker": {"symbol": form, "size": 11, "color": color, "line": {"width": 2, "color": color}},
                        "customdata": [[escape(point.note)] for point in some],
                        "hovertemplate": "%{customdata[0]}<extra></extra>",
                    }
                )
    even = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "line": {"dash": "dot", "width": 1, "color": "#8A929C"}}
    layout = {
        "height": 340,
        "margin": {"l": 10, "r": 10, "t": 10, "b": 10},
        "dragmode": False,
        "showlegend": True,
        "legend": {"orientation": "h", "yanchor": "top", "y": -0.25, "x": 0},
        "hovermode": "closest",
        "shapes": [even],
        "xaxis": {"title": {"text": x_title}, "tickformat": ".0%" if percent else None, "zeroline": False, "fixedrange": True},
        "yaxis": {"title": {"text": "speed-up ×"}, "zeroline": False, "fixedrange": True},
    }
    return go.Figure(data=traces, layout=layout)
