"""The matrix as a figure: one band per row, one tile per n_max, coloured by log2 of the speed-up. Texts come ready-made."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from typing import Any

import plotly.graph_objects as go

LOSS, LOSS_PALE, WIN_PALE, WIN = "#B35806", "#F1A340", "#92C5DE", "#2166AC"
NEUTRAL = {False: "#F7F7F7", True: "#2B2F36"}
INK = {False: "#1B1F24", True: "#E8EBEF"}
FAINT = {False: "#C9CED6", True: "#4A515B"}
QUIET = {False: "#5B636E", True: "#A6AEB9"}
CLIP = 1.0  # log2: half as fast … twice as fast
BAND_PX, GAP_PX, TOP_PX = 140, 66, 30


@dataclass(frozen=True)
class Tile:
    """One cell: `big` is its figure or blank, `small` the lines below, `shade` the speed-up it is coloured by (None: no fill)."""

    big: str
    small: tuple[str, ...]
    hover: str
    cell_id: str | None = None
    shade: float | None = None
    is_best: bool = False
    is_hatched: bool = False


@dataclass(frozen=True)
class Band:
    """One row: its label, smaller lines below it, and its tiles by column."""

    label: str
    below: tuple[str, ...] = ()
    tiles: dict[str, Tile] = field(default_factory=dict)


def depth(speedup: float) -> float:
    """log2 of the speed-up, clipped at half and twice."""
    return max(-CLIP, min(CLIP, math.log2(speedup)))


def color_scale(dark: bool) -> list[tuple[float, str]]:
    """Diverging and colour-blind safe: burnt orange loses, blue wins, the theme's neutral in between."""
    return [(0.0, LOSS), (0.4, LOSS_PALE), (0.5, NEUTRAL[dark]), (0.6, WIN_PALE), (1.0, WIN)]


def fill_of(speedup: float, dark: bool) -> tuple[int, int, int]:
    """The tile's colour as the scale gives it."""
    place = (depth(speedup) + CLIP) / (2 * CLIP)
    stops = color_scale(dark)
    (low, first), (high, second) = next(pair for pair in zip(stops, stops[1:], strict=False) if place <= pair[1][0])
    part = (place - low) / (high - low)
    one, other = (tuple(int(color[i : i + 2], 16) for i in (1, 3, 5)) for color in (first, second))
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(one, other, strict=True))
    return red, green, blue


def _luminance(color: tuple[int, int, int]) -> float:
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in color)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def ink_on(speedup: float | None, dark: bool) -> str:
    """Black or white, whichever reads better on the tile; the theme's ink where there is no fill."""
    if speedup is None:
        return INK[dark]
    bright = _luminance(fill_of(speedup, dark))
    return "#FFFFFF" if 1.05 / (bright + 0.05) > (bright + 0.05) / 0.05 else "#111111"


def matrix_figure(bands: list[Band], columns: tuple[str, ...], *, dark: bool, band_px: int = BAND_PX) -> go.Figure:
    """Tiles over one another from top to bottom; clicks land on invisible squares that carry the cell id as customdata[0].

    Put together as one dict: adding shapes and notes one by one takes longer than everything else on the page.
    """
    spots = [(x, y, band.tiles[name]) for y, band in enumerate(bands) for x, name in enumerate(columns) if name in band.tiles]
    inset = GAP_PX / band_px / 2
    heat = {
        "type": "heatmap",
        "z": [[_depth_of(band.tiles.get(name)) for name in columns] for band in bands],
        "x": list(range(len(columns))),
        "y": list(range(len(bands))),
        "colorscale": color_scale(dark),
        "zmin": -CLIP,
        "zmax": CLIP,
        "showscale": False,
        "xgap": 4,
        "ygap": GAP_PX,
        "hoverinfo": "skip",
    }
    layout = _layout(columns, height=TOP_PX + band_px * max(1, len(bands)) + 6, y_range=[len(bands) - 0.48 - inset, -0.5 - inset])
    frames = [_frames(spots, dark=dark, inset=inset, is_best=is_best) for is_best in (False, True)]
    return go.Figure(
        data=[heat, _texts(spots, dark), _doors(spots), _headers(bands, dark, inset), *frames, *_hatches(spots, dark, inset)], layout=layout
    )


def _headers(bands: list[Band], dark: bool, inset: float) -> dict[str, Any]:
    """Label and smaller lines of every band, hung below its upper edge at the left."""
    small = f"<br><span style='font-size:11px;color:{QUIET[dark]}'>"
    return {
        "type": "scatter",
        "x": [-0.5] * len(bands),
        "y": [y - 0.5 - inset * 0.78 for y in range(len(bands))],
        "mode": "text",
        "text": [f"<b>{escape(band.label)}</b>" + "".join(f"{small}{escape(line)}</span>" for line in band.below) for band in bands],
        "textposition": "bottom right",
        "textfont": {"size": 13, "color": INK[dark]},
        "cliponaxis": False,
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _texts(spots: list[tuple[int, int, Tile]], dark: bool) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": [x for x, _, _ in spots],
        "y": [y for _, y, _ in spots],
        "mode": "text",
        "text": [_text(tile) for _, _, tile in spots],
        "textfont": {"color": [ink_on(tile.shade, dark) for _, _, tile in spots], "size": 12},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _doors(spots: list[tuple[int, int, Tile]]) -> dict[str, Any]:
    """Heatmap tiles send no click; these squares do. They may not skip hover, or the clicks are lost."""
    return {
        "type": "scatter",
        "x": [x for x, _, _ in spots],
        "y": [y for _, y, _ in spots],
        "mode": "markers",
        "customdata": [[tile.cell_id, escape(tile.hover)] for _, _, tile in spots],
        "marker": {"size": 44, "symbol": "square", "opacity": 0},
        "hovertemplate": "%{customdata[1]}<extra></extra>",
        "selected": {"marker": {"opacity": 0.25}},
        "unselected": {"marker": {"opacity": 0}},
        "showlegend": False,
    }


def _hatches(spots: list[tuple[int, int, Tile]], dark: bool, inset: float) -> list[dict[str, Any]]:
    """Excluded cells: hatched, so that they are neither a figure nor a gap."""
    hatched = [(x, y) for x, y, tile in spots if tile.is_hatched]
    if not hatched:
        return []
    pattern = {"shape": "/", "fgcolor": FAINT[dark], "bgcolor": "rgba(0,0,0,0)", "size": 7, "solidity": 0.25}
    bars = {
        "x": [x for x, _ in hatched],
        "base": [y - 0.5 + inset for _, y in hatched],
        "y": [1 - 2 * inset] * len(hatched),
        "width": 0.98,
        "marker": {"color": "rgba(0,0,0,0)", "pattern": pattern},
    }
    return [{"type": "bar", **bars, "hoverinfo": "skip", "showlegend": False}]


def _depth_of(tile: Tile | None) -> float | None:
    return None if tile is None or tile.shade is None else depth(tile.shade)


def _text(tile: Tile) -> str:
    big = f"<span style='font-size:20px'><b>{escape(tile.big)}</b></span>"
    return "<br>".join([big, *(escape(line) for line in tile.small)])


def _frames(spots: list[tuple[int, int, Tile]], *, dark: bool, inset: float, is_best: bool) -> dict[str, Any]:
    """A thin frame for tiles without a fill, a strong one for the row's best: all of a kind as one line with gaps."""
    framed = [(x, y) for x, y, tile in spots if tile.is_best == is_best and (is_best or tile.shade is None)]
    up, side = 0.5 - inset, 0.49
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [part for x, _ in framed for part in (x - side, x + side, x + side, x - side, x - side, None)],
        "y": [part for _, y in framed for part in (y - up, y - up, y + up, y + up, y - up, None)],
        "line": {"color": INK[dark] if is_best else FAINT[dark], "width": 2 if is_best else 1},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _layout(columns: tuple[str, ...], *, height: float, y_range: list[float]) -> dict[str, Any]:
    return {
        "xaxis": {
            "tickvals": list(range(len(columns))),
            "ticktext": ["off" if name == "off" else f"n_max {name}" for name in columns],
            "side": "top",
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
            "range": [-0.5, len(columns) - 0.5],
            "tickfont": {"size": 13},
        },
        "yaxis": {"range": y_range, "visible": False, "fixedrange": True},
        "height": height,
        "margin": {"l": 0, "r": 0, "t": TOP_PX, "b": 6},
        "hovermode": "closest",
        "hoverdistance": -1,
        "dragmode": False,
        "barmode": "overlay",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "paper_bgcolor": "rgba(0,0,0,0)",
    }
