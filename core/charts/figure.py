"""Figures out of plain dicts: what every chart hands to the page."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go


def figure_of(traces: list[dict[str, Any]], layout: dict[str, Any]) -> go.Figure:
    """The figure, its properties taken as they are: looking each of them up costs more than the rest of a page.

    tests/unit/test_figures.py draws every chart once with all checks on.
    """
    return go.Figure(data=traces, layout=layout, _validate=False)


def curve_layout(x: dict[str, Any], y: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What every chart of curves shares: still axes of the given kind, the names below. `more` comes on top."""
    axis = {"zeroline": False, "fixedrange": True}
    return {
        "height": 340,
        "margin": {"l": 10, "r": 10, "t": 10, "b": 10},
        "dragmode": False,
        "hovermode": "closest",
        "showlegend": True,
        "legend": {"orientation": "h", "yanchor": "top", "y": -0.25, "x": 0},
        "xaxis": {**axis, **x},
        "yaxis": {**axis, **y},
        **more,
    }
