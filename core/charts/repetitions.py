"""Every counted repetition of a run as a point over its stage, stages in the order measured, with each stage's median as a bar behind."""

from __future__ import annotations

from html import escape
from statistics import median

import plotly.graph_objects as go

from core.charts.lines import palette


def repetitions_figure(points: list[tuple[str, float]], *, dark: bool) -> go.Figure:
    """`points`: (stage, tok/s), oldest first. Noise is the height of a column of points."""
    stages: dict[str, list[float]] = {}
    for stage, tok_s in points:
        stages.setdefault(escape(stage), []).append(tok_s)
    color = palette(dark)[0]
    figure = go.Figure()
    figure.add_bar(
        x=list(stages), y=[median(values) for values in stages.values()], marker={"color": color, "opacity": 0.25}, width=0.6,
        hovertemplate="%{x}: median %{y:.1f} tok/s<extra></extra>", showlegend=False,
    )  # fmt: skip
    figure.add_scatter(
        x=[escape(stage) for stage, _ in points], y=[tok_s for _, tok_s in points], mode="markers", showlegend=False,
        marker={"color": color, "size": 8}, hovertemplate="%{x}: %{y:.1f} tok/s<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(type="category", fixedrange=True, automargin=True)
    figure.update_yaxes(title={"text": "tok/s"}, rangemode="tozero", fixedrange=True, nticks=5)
    figure.update_layout(height=240, margin={"l": 10, "r": 10, "t": 10, "b": 10}, dragmode=False, hovermode="closest")
    return figure
