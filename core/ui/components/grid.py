"""The matrix on the screen: rows of the service turned into tiles and into a real table whose figures are links."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from core.charts.matrix import WIDEST_PX, Band, Tile, matrix_figure
from core.domain.matrix import COLUMNS, losing_why, not_run
from core.ui.components.figures import STALE, cell_lines, cell_words, literal, rate_range
from core.ui.components.links import go as leave
from core.ui.components.links import receipt_url, run_url
from core.ui.components.outcomes import because, outcome, suggested
from core.ui.components.workload_names import workload_words
from core.ui.state import CELL

Row = dict[str, Any]
SUPERSCRIPTS = "¹²³⁴⁵⁶⁷⁸⁹"
ROWS_AT_ONCE = 25
TABLE_PX = 4000  # a fixed width above any screen: the table fills its place, scrolls sideways, and its first column stays
TILE_LEAST_PX = 120  # range, count, acceptance and its footnote stand on one
_HEADER_CHARS = 130


def denominator(text: str | None) -> str:
    """What an acceptance is a share of, without the count: “of 204 proposed” → “of proposed tokens, as counted by the engine”."""
    return re.sub(r"^of \d+ proposed$", "of proposed tokens, as the engine counted them", text or "")


def footnotes(rows: list[Row]) -> dict[str, str]:
    """Denominator → footnote sign, in the order they appear."""
    seen = dict.fromkeys(denominator(c["accept_denominator"]) for row in rows for c in row["cells"].values() if c["accept_denominator"])
    return {text: SUPERSCRIPTS[min(place, len(SUPERSCRIPTS) - 1)] for place, text in enumerate(seen)}


def columns_of(rows: list[Row]) -> tuple[str, ...]:
    """off, 1, 2, 3 and every longer draft that some row has."""
    more = {name for row in rows for name in row["cells"]} - set(COLUMNS)
    return (*COLUMNS, *sorted(more, key=int))


def row_title(row: Row) -> str:
    """Model × spill, with the concurrency where it is not one stream. An imported file may name no model and no concurrency."""
    spill = row["spill"]["label"]
    streams = f"c={row['c']}" if row["c"] is not None else "concurrency not recorded"
    if row["provenance"] == "measured" and row["spill"]["layers"]:
        spill = f"{row['spill']['layers']} layers spilled"
    return " · ".join([row["model"] or "model not recorded", spill, *([streams] if row["c"] != 1 else [])])


def row_below(row: Row) -> str:
    """Where the row comes from."""
    if row["provenance"] == "transcribed":
        return "✎ transcribed, not measured here"
    if row["provenance"] == "imported":
        known = [
            row["build"],
            row["file"]["settings"],
            workload_words(row["workload"]),
            f"context {row['context']}" if row["context"] else None,
        ]
        return " · ".join(
            ["⇣ imported, not measured here", row["file"]["name"], row["file"]["kind"], *(str(part) for part in known if part)]
        )
    known = [
        row["provenance"],
        row["box"],
        row["build"],
        workload_words(row["workload"]),
        f"context {row['context']}" if row["context"] else None,
    ]
    return " · ".join(str(part) for part in known if part)


def stale_words(row: Row) -> str:
    """“◷ stale: …”, empty where nothing is newer."""
    return f"{STALE} stale: {'; '.join(row['stale'])}" if row["stale"] else ""


def _short(text: str, limit: int = _HEADER_CHARS) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def bands_of(rows: list[Row], columns: tuple[str, ...]) -> list[Band]:
    """Rows as bands of tiles."""
    notes = footnotes(rows)
    return [_band(row, columns, notes) for row in rows]


def _band(row: Row, columns: tuple[str, ...], notes: dict[str, str]) -> Band:
    found = outcome(row)
    tiles = {name: _tile(row, name, notes) for name in columns}
    below = tuple(line for line in (stale_words(row), row_below(row)) if line)
    return Band(_short(row_title(row), 90), _said(found.words, row), found.verdict, because(row), below, tiles)


def _said(words: str, row: Row) -> str:
    action = row["suggestion"]["action"]
    return f"{words} → {action}" if action else words


def _tile(row: Row, name: str, notes: dict[str, str]) -> Tile:
    """Cells that cannot be told from the row's best share its shade: its colour, or the neutral one where that is off."""
    cell, best = row["cells"].get(name) or not_run(), row["best"]
    shade = cell["speedup"]
    if shade and name in row["tied"]:
        shade = 1.0 if best == "off" else row["cells"][best]["speedup"] or shade
    hover = f"{column_title(name)}: {cell_words(cell)}" + (f" · {_short(cell['why'])}" if cell["verdict"] == "loses" else "")
    return Tile(
        cell_lines(cell)[0], _small_lines(cell, notes), _short(hover, 240), cell["cell_id"], None if cell["status"] == "invalid" else shade,
        is_best=name == best, is_hatched=cell["status"] == "excluded", is_faded=cell["status"] == "stale",
    )  # fmt: skip


def column_title(name: str) -> str:
    """“off” or “n_max 2”."""
    return "off" if name == "off" else f"n_max {name}"


def cell_small(cell: Row, notes: dict[str, str]) -> str:
    """Second line of a cell: speed-up with its sign, acceptance with its footnote, the clock of a stale one."""
    _, gain, accepted = cell_lines(cell)
    mark = notes.get(denominator(cell.get("accept_denominator")), "")
    clock = STALE if cell["status"] == "stale" else ""
    return " ".join(part for part in (gain, f"{accepted}{mark}", clock) if part).strip()


def _small_lines(cell: Row, notes: dict[str, str]) -> tuple[str, ...]:
    spread = rate_range(cell["tok_s_min"], cell["tok_s_max"], cell["n"]) if cell["tok_s"] and cell["tok_s_min"] is not None else ""
    return tuple(line for line in (cell_small(cell, notes), spread) if line)


def picture_of(rows: list[Row], *, dark: bool) -> go.Figure:
    """The rows as tiles."""
    columns = columns_of(rows)
    return matrix_figure(bands_of(rows, columns), columns, dark=dark)


def draw_matrix(rows: list[Row], figure: go.Figure, *, key: str) -> None:
    """The figure; a click on a tile opens its receipt. On a narrow screen it keeps a width that reads, and scrolls sideways."""
    columns = columns_of(rows)
    spoken = f"Matrix of {len(rows)} rows by n_max; the same cells stand in the table below, each a link."
    with st.grid(1, wrap=False, min_column_width=max(WIDEST_PX, TILE_LEAST_PX * len(columns))).cell():
        event = st.plotly_chart(figure, key=key, on_select="rerun", selection_mode="points", config={"displayModeBar": False}, alt=spoken)
    points = event["selection"]["points"] if event else []
    cell_id = points[0].get("customdata", [None])[0] if points else None
    if cell_id:
        leave("receipt", **{CELL: cell_id})


def draw_footnotes(rows: list[Row], legend: str) -> None:
    """What the signs mean."""
    notes = " · ".join(f"{mark} {text}" for text, mark in footnotes(rows).items())
    st.caption(f"{literal(notes)}  \n{legend}" if notes else legend)


def draw_table(table: pd.DataFrame) -> None:
    """Every cell in words, as a real table: what the keyboard, a screen reader and the clipboard get. Figures link to receipts."""
    st.table(table, width=TABLE_PX)


def table_of(rows: list[Row]) -> pd.DataFrame:
    """One line a row, one column an n_max, as Markdown in which only the links are Markdown."""
    columns = columns_of(rows)
    lines = [
        {
            **{column_title(name): _linked(row["cells"].get(name) or not_run()) for name in columns},
            "why": literal(_why(row)),
            "suggested": literal(suggested(row)),
            "from": _linked_run(row),
        }
        for row in rows
    ]
    return pd.DataFrame(lines, index=pd.Index([literal(row_title(row)) for row in rows], name="row"))


def _linked(cell: Row) -> str:
    words = literal(cell_words(cell))
    return f"[{words}]({receipt_url(cell['cell_id'])})" if cell["cell_id"] else words


def _linked_run(row: Row) -> str:
    words = " · ".join(part for part in (row_below(row), stale_words(row)) if part)
    return f"[{literal(words)}]({run_url(row['run_id'])})" if row["run_id"] else literal(words)


def _why(row: Row) -> str:
    """The row's sentence, and one line for every further cell that loses."""
    more = [f"n={name} loses: {why}" for name, why in losing_why(row["cells"]).items() if why not in row["why"]]
    blanks = [column_title(name) for name, cell in row["cells"].items() if cell["status"] == "not_run"]
    what = "not in the file" if row["provenance"] == "imported" else "not run"
    return "; ".join([row["why"], *more, *([f"{what}: {', '.join(blanks)}"] if blanks else [])])
