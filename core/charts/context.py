"""Acceptance against the length of the context: one mark an answer, this cell's filled, other runs' of the same head open."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import ceil, floor, log2, log10

import plotly.graph_objects as go

from core.charts.figure import curve_layout, figure_of
from core.charts.lines import palette


@dataclass(frozen=True)
class Cloud:
    """Answers of one origin: context in tokens, share accepted of proposed, what is said on hover."""

    name: str
    context: list[int]
    share: list[float]
    notes: list[str]
    is_own: bool


def context_figure(clouds: list[Cloud], *, dark: bool) -> go.Figure:
    """Context on a log scale: a head meets short and very long texts."""
    traces = []
    for cloud in clouds:
        color = palette(dark)[0 if cloud.is_own else 1]
        traces.append(
            {
                "type": "scatter", "mode": "markers", "name": escape(cloud.name), "x": cloud.context, "y": cloud.share,
                "marker": {"size": 10, "color": color, "symbol": "circle" if cloud.is_own else "diamond-open", "opacity": 0.85},
                "customdata": [[escape(note)] for note in cloud.notes], "hovertemplate": "%{customdata[0]}<extra></extra>",
            }
        )  # fmt: skip
    ticks = ticks_of([one for cloud in clouds for one in cloud.context])
    span = [log10(ticks[0]) - 0.05, log10(ticks[-1]) + 0.05]
    labels = {"tickvals": ticks, "ticktext": [f"{tick:,}" for tick in ticks]}
    x = {"title": {"text": "context when the answer began, tokens"}, "type": "log", "range": span, **labels}
    y = {"title": {"text": "accepted of proposed"}, "tickformat": ".0%", "range": [-0.03, 1.03]}
    return figure_of(traces, curve_layout(x, y))


def ticks_of(contexts: list[int]) -> list[int]:
    """Powers of two around the contexts, six at most: each a whole number that says itself."""
    low, high = floor(log2(min(contexts))), ceil(log2(max(contexts)))
    high = max(high, low + 1)
    step = max(1, ceil((high - low) / 5))
    return [2**power for power in range(low, high + step, step)]
