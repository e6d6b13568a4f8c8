"""Speed-up against spill: one point a cell, n_max as colour, where it comes from as the point's form."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go

from core.charts.figure import figure_of
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


def spill_figure(by_share: list[Point], by_layers: list[Point], *, dark: bool) -> go.Figure:
    """Two panels over one another: against the share of the weights on the host, and against layers. A panel without points is left out.

    Points only: a line would claim what lies between them. Below the dotted line speculation loses.
    """
    colors, lengths = palette(dark), sorted({point.n_max for point in (*by_share, *by_layers)})
    panels = [panel for panel in ((by_share, _SHARE, ".0%"), (by_layers, _LAYERS, "d")) if panel[0]]
    traces, axes, told = [], {}, set()
    for place, (points, title, form) in enumerate(panels):
        number = str(place + 1) if place else ""
        for n_max in sorted({point.n_max for point in points}):
            some = [point for point in points if point.n_max == n_max]
            traces.append(_trace(some, f"n_max {n_max}", colors[lengths.index(n_max) % len(colors)], number, n_max not in told))
            told.add(n_max)
        axes[f"xaxis{number}"] = {
            "title": {"text": title},
            "tickformat": form,
            "zeroline": False,
            "fixedrange": True,
            "anchor": f"y{number}",
            "range": [-0.02, 1.02] if title == _SHARE else None,  # a share is 0 to 1, also where all points lie at 0
            "rangemode": "tozero",
        }
        half = _HALVES[place] if len(panels) > 1 else [0, 1]
        level = {"title": {"text": "speed-up ×"}, "zeroline": False, "fixedrange": True}
        axes[f"yaxis{number}"] = {**level, "domain": half, "anchor": f"x{number}"}
    even = {"type": "line", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "line": {"dash": "dot", "width": 1, "color": "#8A929C"}}
    layout = {
        "height": 340 * max(1, len(panels)) - 80 * (len(panels) > 1),
        "margin": {"l": 10, "r": 10, "t": 10, "b": 10},
        "dragmode": False,
        "showlegend": True,
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
        "hovermode": "closest",
        "shapes": [{**even, "xref": f"x{n} domain", "yref": f"y{n}"} for n in ("", "2")[: len(panels)]],
        **axes,
    }
    return figure_of(traces, layout)


_HALVES = ([0.57, 1.0], [0.0, 0.43])
_SHARE, _LAYERS = "share of the weights on the host", "layers whose weights are on the host"


def _trace(some: list[Point], name: str, color: str, number: str, is_told: bool) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "cliponaxis": False,  # a point at 0 is seen whole
        "name": name,
        "legendgroup": name,
        "showlegend": is_told,
        "xaxis": f"x{number}",
        "yaxis": f"y{number}",
        "x": [point.x for point in some],
        "y": [point.speedup for point in some],
        "marker": {"symbol": [FORMS[point.provenance] for point in some], "size": 11, "color": color, "line": {"width": 2, "color": color}},
        "customdata": [[escape(point.note)] for point in some],
        "hovertemplate": "%{customdata[0]}<extra></extra>",
    }
