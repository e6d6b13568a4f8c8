"""The speed-up as a staircase of factors: best case up, acceptance, verify and draft down, what is left. Exact on a log scale."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from core.charts.lines import palette
from core.charts.matrix import FAINT, INK
from core.domain.break_even import Factor

ROW_PX = 44


def split_figure(split: list[Factor], speedup: float, *, dark: bool) -> go.Figure:
    """Horizontal bars, each beginning where the one before ended; the last one reaches from 1× to the speed-up."""
    figure, at = go.Figure(), 0.0
    blue, orange = palette(dark)[0], palette(dark)[1]
    for part in split:
        _bar(figure, _label(part.name), at, part.log, factor_words(part.factor), blue if part.log >= 0 else orange)
        at += part.log
    _bar(figure, "speed-up", 0.0, at, f"= {speedup:.2f}×", INK[dark])
    figure.add_vline(x=0.0, line={"width": 1, "color": FAINT[dark]})
    reach = max([abs(math.log(speedup)), *(part.log for part in split)])
    low = min([0.0, at, *(math.log(speedup) for _ in split)])
    figure.update_xaxes(visible=False, fixedrange=True, range=[low - 0.08 * reach, reach * 1.32])
    figure.update_yaxes(autorange="reversed", fixedrange=True, tickfont={"size": 13})
    figure.update_layout(
        height=ROW_PX * (len(split) + 1) + 20, margin={"l": 10, "r": 10, "t": 10, "b": 10}, dragmode=False, showlegend=False, bargap=0.35,
        barmode="overlay",
    )  # fmt: skip
    return figure


def factor_words(factor: float) -> str:
    """“× 4.00” for a gain, “÷ 3.94” for a cost."""
    return f"× {factor:.2f}" if factor >= 1 else f"÷ {1.0 / factor:.2f}"


def _label(name: str) -> str:
    return name.replace("+", " + ")


def _bar(figure: go.Figure, name: str, start: float, length: float, words: str, color: str) -> None:
    figure.add_bar(
        y=[name], x=[length], base=[start], orientation="h", marker={"color": color}, hovertemplate=f"{name}: {words}<extra></extra>"
    )
    figure.add_annotation(
        x=max(start, start + length), y=name, text=words, showarrow=False, xanchor="left", xshift=6, font={"size": 13}
    )  # fmt: skip
