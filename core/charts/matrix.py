"""The matrix as a figure: one band per row, one tile per n_max, coloured by log2 of the speed-up. Texts come ready-made."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from textwrap import wrap
from typing import Any

import plotly.graph_objects as go

from core.charts.figure import figure_of

LOSS, LOSS_PALE, WIN_PALE, WIN = "#B35806", "#F1A340", "#92C5DE", "#2166AC"
NEUTRAL = {False: "#F7F7F7", True: "#2B2F36"}
INK = {False: "#1B1F24", True: "#E8EBEF"}
FAINT = {False: "#C9CED6", True: "#4A515B"}
QUIET = {False: "#5B636E", True: "#A6AEB9"}
GROUND = {False: "#FFFFFF", True: "#14171B"}
SAID = {"wins": {False: WIN, True: WIN_PALE}, "loses": {False: LOSS, True: LOSS_PALE}}
CLIP = 1.0  # log2: half as fast … twice as fast
FADED = 0.45  # what is left of a stale tile's colour
TILE_PX, LABEL_PX, LINE_PX, GAP_PX, TOP_PX = 66, 17, 16, 24, 30
LINE_CHARS, WIDEST_PX = 116, 640  # a line of this many small letters fits the narrowest picture; it scrolls sideways below that

Color = tuple[int, int, int]


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
    is_faded: bool = False


@dataclass(frozen=True)
class Band:
    """One row: its label, what it comes to (`said` in the colour of `verdict`, then why), quiet lines below, and its tiles by column."""

    label: str
    said: str = ""
    verdict: str = ""
    why: str = ""
    below: tuple[str, ...] = ()
    tiles: dict[str, Tile] = field(default_factory=dict)


@dataclass(frozen=True)
class _Placed:
    """A band with the pixel where it begins, the one where its tiles begin, and its words as lines."""

    band: Band
    top: float
    tiles_top: float
    lines: list[str]


def depth(speedup: float) -> float:
    """log2 of the speed-up, clipped at half and twice."""
    return max(-CLIP, min(CLIP, math.log2(speedup)))


def color_scale(dark: bool) -> list[tuple[float, str]]:
    """Diverging and colour-blind safe: burnt orange loses, blue wins, the theme's neutral in between."""
    return [(0.0, LOSS), (0.4, LOSS_PALE), (0.5, NEUTRAL[dark]), (0.6, WIN_PALE), (1.0, WIN)]


def _rgb(color: str) -> Color:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return red, green, blue


def _between(one: Color, other: Color, part: float) -> Color:
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(one, other, strict=True))
    return red, green, blue


def fill_of(speedup: float, dark: bool, *, is_faded: bool = False) -> Color:
    """The tile's colour as the scale gives it; a stale one's is mixed with the page."""
    place = (depth(speedup) + CLIP) / (2 * CLIP)
    stops = color_scale(dark)
    (low, first), (high, second) = next(pair for pair in zip(stops, stops[1:], strict=False) if place <= pair[1][0])
    full = _between(_rgb(first), _rgb(second), (place - low) / (high - low))
    return _between(_rgb(GROUND[dark]), full, FADED) if is_faded else full


def _luminance(color: Color) -> float:
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in color)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def ink_on(speedup: float | None, dark: bool, *, is_faded: bool = False) -> str:
    """Black or white, whichever reads better on the tile; the theme's ink where there is no fill."""
    if speedup is None:
        return INK[dark]
    bright = _luminance(fill_of(speedup, dark, is_faded=is_faded))
    return "#FFFFFF" if 1.05 / (bright + 0.05) > (bright + 0.05) / 0.05 else "#111111"


def matrix_figure(bands: list[Band], columns: tuple[str, ...], *, dark: bool) -> go.Figure:
    """Tiles over one another from top to bottom, y in pixels; a click on a tile carries its cell id as customdata[0]."""
    placed, height = _placed(bands, dark)
    spots = [(x, one.tiles_top, one.band.tiles[name]) for one in placed for x, name in enumerate(columns) if name in one.band.tiles]
    return figure_of([_tiles(spots, dark), _texts(spots, dark), _headers(placed, dark)], _layout(columns, height))


def _placed(bands: list[Band], dark: bool) -> tuple[list[_Placed], float]:
    """Bands under one another, each as high as its words ask, and the height of all."""
    found, top = [], 4.0
    for band in bands:
        lines = _lines(band, dark)
        tiles_top = top + LABEL_PX + LINE_PX * len(lines) + 4
        found.append(_Placed(band, top, tiles_top, lines))
        top = tiles_top + TILE_PX + GAP_PX
    return found, top


def _lines(band: Band, dark: bool) -> list[str]:
    """The words under a label: what the row comes to and why, then the quiet ones, each wrapped where the narrowest picture ends."""
    color = SAID.get(band.verdict, INK)[dark]
    first, *more = wrap(band.why, LINE_CHARS, initial_indent=" " * (len(band.said) + 3), max_lines=2, placeholder=" …") or [""]
    said = f"<span style='color:{color}'><b>{escape(band.said)}</b></span>" if band.said else ""
    words = [" · ".join(part for part in (said, escape(first.strip())) if part)] + [escape(line) for line in more]
    quiet = [escape(line) for text in band.below for line in wrap(text, LINE_CHARS, max_lines=2, placeholder=" …")]
    return [line for line in words if line] + [f"<span style='color:{QUIET[dark]}'>{line}</span>" for line in quiet]


def _headers(placed: list[_Placed], dark: bool) -> dict[str, Any]:
    """Label and lines of every band, hung below its upper edge at the left."""
    return {
        "type": "scatter",
        "x": [-0.5] * len(placed),
        "y": [one.top - 4 for one in placed],
        "mode": "text",
        "text": ["<br>".join([f"<span style='font-size:15px'><b>{escape(one.band.label)}</b></span>", *one.lines]) for one in placed],
        "textposition": "bottom right",
        "textfont": {"size": 12, "color": INK[dark]},
        "cliponaxis": False,
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _texts(spots: list[tuple[int, float, Tile]], dark: bool) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": [x for x, _, _ in spots],
        "y": [top + TILE_PX / 2 for _, top, _ in spots],
        "mode": "text",
        "text": [_text(tile) for _, _, tile in spots],
        "textfont": {"color": [ink_on(tile.shade, dark, is_faded=tile.is_faded) for _, _, tile in spots], "size": 12},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _tiles(spots: list[tuple[int, float, Tile]], dark: bool) -> dict[str, Any]:
    """One bar a cell: coloured where it has a speed-up, framed where it has none, framed strongly where it is the row's best,
    hatched where it is excluded. The whole of it is the door to its receipt; it may not skip hover, or the click is lost."""
    tiles = [tile for _, _, tile in spots]
    frames = [(INK[dark], 2.5) if tile.is_best else (FAINT[dark], 1 if tile.shade is None else 0) for tile in tiles]
    return {
        "type": "bar",
        "x": [x for x, _, _ in spots],
        "base": [top for _, top, _ in spots],
        "y": [TILE_PX] * len(spots),
        "width": 0.97,
        "customdata": [[tile.cell_id, escape(tile.hover)] for tile in tiles],
        "hovertemplate": "%{customdata[1]}<extra></extra>",
        "marker": {
            "color": [_css(tile, dark) for tile in tiles],
            "line": {"color": [color for color, _ in frames], "width": [width for _, width in frames]},
            "pattern": {"shape": ["/" if tile.is_hatched else "" for tile in tiles], "fgcolor": FAINT[dark], "size": 7, "solidity": 0.25},
        },
        "selected": {"marker": {"opacity": 0.7}},
        "unselected": {"marker": {"opacity": 1}},
        "showlegend": False,
    }


def _css(tile: Tile, dark: bool) -> str:
    return "rgba(0,0,0,0)" if tile.shade is None else "rgb({},{},{})".format(*fill_of(tile.shade, dark, is_faded=tile.is_faded))


def _text(tile: Tile) -> str:
    big = f"<span style='font-size:20px'><b>{escape(tile.big)}</b></span>"
    return "<br>".join([big, *(escape(line) for line in tile.small)])


def _layout(columns: tuple[str, ...], height: float) -> dict[str, Any]:
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
        "yaxis": {"range": [max(1.0, height), 0], "visible": False, "fixedrange": True},
        "height": TOP_PX + max(1.0, height),
        "margin": {"l": 0, "r": 0, "t": TOP_PX, "b": 0},
        "hovermode": "closest",
        "dragmode": False,
        "barmode": "overlay",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "paper_bgcolor": "rgba(0,0,0,0)",
    }
