"""Speed-up against a from a forced-acceptance pass, a line for each n, the real cells dropped on it: could a better draft ever pay?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from core.charts.figure import curve_layout, figure_of
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
    colors = palette(dark)
    looks = [(line, colors[place % len(colors)], SYMBOLS[place % len(SYMBOLS)]) for place, line in enumerate(lines)]
    traces = [trace for line, color, symbol in looks for trace in (_foretold(line, color), _measured(line, color, symbol)) if trace]
    even = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "line": {"width": 1, "dash": "dot", "color": GREY}}
    note = {"xref": "paper", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom", "showarrow": False, "font": {"size": 11}}
    x, y = {"title": {"text": "a: tokens committed per step"}}, {"title": {"text": "speed-up"}, "tickformat": ".2f"}
    room = {"l": 10, "r": 24, "t": 20, "b": 10}
    return figure_of(traces, curve_layout(x, y, margin=room, shapes=[even], annotations=[{**note, "text": "pays above"}]))


def _foretold(line: GainLine, color: str) -> dict[str, Any]:
    name = f"n_max {line.n_max}"
    return {
        "type": "scatter",
        "x": line.a,
        "y": line.speedup,
        "name": f"{name}, forced",
        "mode": "lines",
        "line": {"color": color, "width": 2, "dash": "dash"},
        "hovertemplate": name + ": a %{x:.2f} would give %{y:.2f}×<extra></extra>",
    }


def _measured(line: GainLine, color: str, symbol: str) -> dict[str, Any] | None:
    if line.real is None:
        return None
    name = f"n_max {line.n_max}"
    return {
        "type": "scatter",
        "x": [line.real[0]],
        "y": [line.real[1]],
        "name": f"{name}, measured",
        "mode": "markers",
        "marker": {"size": 12, "color": color, "symbol": symbol},
        "hovertemplate": name + ": measured a %{x:.2f}, %{y:.2f}×<extra></extra>",
    }
