"""What the box did while a cell ran: one small chart a quantity over the cell's own time, repetition after repetition."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from core.charts.lines import palette


@dataclass(frozen=True)
class Trace:
    """One quantity: name with unit, seconds since the cell's first reading, values; None leaves a gap."""

    name: str
    at_s: list[float]
    values: list[float | None]


def telemetry_figure(traces: list[Trace], *, dark: bool) -> go.Figure:
    """Charts below one another with one time axis."""
    titles = [escape(trace.name) for trace in traces]
    figure = make_subplots(rows=len(traces), cols=1, shared_xaxes=True, vertical_spacing=0.06, subplot_titles=titles)
    for row, trace in enumerate(traces, 1):
        figure.add_scatter(
            x=trace.at_s, y=trace.values, mode="lines+markers", marker={"size": 4}, line={"color": palette(dark)[0], "width": 1.5},
            showlegend=False, row=row, col=1, hovertemplate=f"{escape(trace.name)}: %{{y:.1f}} after %{{x:.0f}} s<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(zeroline=False, fixedrange=True)
    figure.update_xaxes(title={"text": "seconds since the cell began"}, row=len(traces), col=1)
    figure.update_yaxes(zeroline=False, fixedrange=True, nticks=4)
    figure.update_annotations(font={"size": 12})
    figure.update_layout(height=110 * len(traces) + 60, margin={"l": 10, "r": 10, "t": 30, "b": 10}, dragmode=False, hovermode="closest")
    return figure
