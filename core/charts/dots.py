"""Single figures as points on lines of their own, with a range behind them: prefill by build, scores of a tool suite."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any

import plotly.graph_objects as go

from core.charts.figure import figure_of
from core.charts.lines import palette
from core.charts.spill import FORMS


@dataclass(frozen=True)
class Dots:
    """One set of points: `label` is its line, `series` its colour, `low` and `high` the range drawn behind (None: none)."""

    label: str
    series: str
    values: list[float]
    provenance: str
    note: str
    low: float | None = None
    high: float | None = None


_LABEL_CHARS, _LABEL_LINES = 36, 3  # on a phone the points still have half of the width


def _label(text: str) -> str:
    return "<br>".join(escape(line) for line in wrap(text, _LABEL_CHARS, max_lines=_LABEL_LINES, placeholder=" …"))


def dots_figure(sets: list[Dots], *, x_title: str, dark: bool) -> go.Figure:
    """Lines from top to bottom in the order given. The form of a point says where it comes from."""
    colors = palette(dark)
    names = list(dict.fromkeys(one.series for one in sets))
    traces: list[dict[str, Any]] = []
    seen: set[str] = set()
    for one in sets:
        color = colors[names.index(one.series) % len(colors)]
        label, shown = _label(one.label), {"color": color, "size": 12, "symbol": FORMS.get(one.provenance, "circle")}
        if one.low is not None and one.high is not None:
            line = {"color": color, "width": 9}
            ends = {"x": [one.low, one.high], "y": [label] * 2, "mode": "lines", "line": line, "opacity": 0.3}
            traces.append({"type": "scatter", **ends, "hoverinfo": "skip", "showlegend": False, "legendgroup": one.series})
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": escape(one.series),
                "legendgroup": one.series,
                "showlegend": one.series not in seen,
                "x": one.values,
                "y": [label] * len(one.values),
                "marker": {**shown, "line": {"width": 2, "color": color}},
                "customdata": [[escape(one.note)]] * len(one.values),
                "hovertemplate": "%{customdata[0]}<extra></extra>",
            }
        )
        seen.add(one.series)
    lines = len(dict.fromkeys(one.label for one in sets))
    layout = {
        "height": 90 + 58 * lines,
        "margin": {"l": 10, "r": 10, "t": 10, "b": 10},
        "dragmode": False,
        "showlegend": True,
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0},
        "hovermode": "closest",
        "xaxis": {"title": {"text": x_title}, "zeroline": False, "fixedrange": True, "rangemode": "tozero"},
        "yaxis": {"autorange": "reversed", "fixedrange": True, "automargin": True, "tickfont": {"size": 11}},
    }
    return figure_of(traces, layout)
