"""Two curves of a price: how much acceptance a step of a given cost needs, and what the speed-up would be with another a."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import plotly.graph_objects as go

from core.charts.lines import palette
from core.domain.price import break_even_accept_share

STEP_COSTS = (1.5, 2.0, 3.0, 4.0)
GREY = "#8A929C"


@dataclass(frozen=True)
class Need:
    """One priced n: the acceptance a step needs there, and the one that was seen (None: not recorded)."""

    n_max: int
    needed_share: float
    seen_share: float | None


def needed_figure(needs: list[Need], *, dark: bool) -> go.Figure:
    """Acceptance needed against n. Thin lines: a step that costs 1.5, 2, 3, 4 plain steps; above 100 % no draft can win."""
    figure = go.Figure()
    longest = max([3, *(need.n_max for need in needs)]) + 1
    steps = list(range(1, longest + 1))
    for cost in STEP_COSTS:
        needed = [break_even_accept_share(cost, n) for n in steps]
        figure.add_scatter(
            x=steps,
            y=needed,
            mode="lines",
            line={"color": GREY, "width": 1, "dash": "dot"},
            showlegend=False,
            hovertemplate=f"a step that costs {cost:g} plain steps<br>needs %{{y:.0%}} at n_max %{{x}}<extra></extra>",
        )
        figure.add_annotation(
            x=steps[-1], y=needed[-1], text=f"{cost:g}", showarrow=False, xanchor="left", xshift=4, font={"size": 11, "color": GREY}
        )
    ns, color = [need.n_max for need in needs], palette(dark)
    figure.add_scatter(
        x=ns,
        y=[n.needed_share for n in needs],
        name="needed",
        mode="lines+markers",
        line={"color": color[1]},
        marker={"size": 10, "symbol": "square"},
        hovertemplate="n_max %{x} needs %{y:.1%}<extra></extra>",
    )
    figure.add_scatter(
        x=ns,
        y=[n.seen_share for n in needs],
        name="accepted",
        mode="lines+markers",
        line={"color": color[0]},
        marker={"size": 10},
        hovertemplate="n_max %{x}: %{y:.1%} accepted<extra></extra>",
    )
    figure.add_hline(y=1.0, line={"width": 1, "color": GREY}, annotation={"text": "above: no draft can win", "font": {"size": 11}})
    top = max([1.1, *(need.needed_share * 1.1 for need in needs)])
    return _framed(figure, "n_max", "share of proposed tokens", [0, top], y_format=".0%", x_step=1)


def speedup_figure(n_max: int, step_in_h: float, a: float, *, dark: bool, name: str = "this pair") -> go.Figure:
    """Speed-up against a at the step cost of this pair: a straight line, the pair's own point on it."""
    color = palette(dark)
    figure = go.Figure()
    figure.add_scatter(
        x=[1.0, n_max + 1.0],
        y=[1.0 / step_in_h, (n_max + 1.0) / step_in_h],
        mode="lines",
        line={"color": color[0], "width": 2},
        showlegend=False,
        hovertemplate="a %{x:.2f} would give %{y:.2f}×<extra></extra>",
    )
    figure.add_scatter(
        x=[a],
        y=[a / step_in_h],
        mode="markers",
        marker={"size": 13, "color": color[1], "symbol": "diamond"},
        showlegend=False,
        hovertemplate=f"{escape(name)}: a %{{x:.2f}}, %{{y:.2f}}×<extra></extra>",
    )
    figure.add_hline(
        y=1.0,
        line={"width": 1, "dash": "dot", "color": GREY},
        annotation={"text": "pays above", "font": {"size": 11}},
        annotation_position="top left",
    )
    return _framed(figure, "a: tokens committed per step", "speed-up", None, y_format=".2f", x_step=None)


def add_assumption(figure: go.Figure, a: float, speedup: float) -> None:
    """A star for what somebody assumed; it is no measurement."""
    figure.add_scatter(
        x=[a],
        y=[speedup],
        mode="markers",
        marker={"size": 15, "symbol": "star", "color": "#8073AC"},
        showlegend=False,
        hovertemplate="assumption: a %{x:.2f}, %{y:.2f}×<extra></extra>",
    )


def _framed(figure: go.Figure, x_title: str, y_title: str, y_range: list[float] | None, *, y_format: str, x_step: int | None) -> go.Figure:
    figure.update_xaxes(title={"text": x_title}, dtick=x_step, zeroline=False, fixedrange=True)
    figure.update_yaxes(title={"text": y_title}, tickformat=y_format, range=y_range, zeroline=False, fixedrange=True)
    figure.update_layout(
        height=340,
        margin={"l": 10, "r": 24, "t": 20, "b": 10},
        dragmode=False,
        hovermode="closest",
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
    )
    return figure
