"""Figures out of plain dicts: what every chart hands to the page."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go


def figure_of(traces: list[dict[str, Any]], layout: dict[str, Any]) -> go.Figure:
    """The figure, its properties taken as they are: looking each of them up costs more than the rest of a page.

    tests/unit/test_figures.py draws every chart once with all checks on.
    """
    return go.Figure(data=traces, layout=layout, _validate=False)
