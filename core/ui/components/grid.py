"""The matrix on the screen: rows of the service turned into tiles, links, a table and a file. Which tiles tie is decided here."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pandas as pd
import streamlit as st

from core.charts.matrix import Band, Tile, matrix_figure
from core.domain.matrix import COLUMNS
from core.domain.spreadsheet import neutral
from core.domain.stats import MIN_GAIN
from core.ui.components.figures import blank, cell_lines, cell_words, literal, sign, speedup
from core.ui.components.links import go, receipt_link, run_link
from core.ui.components.theme import is_dark
from core.ui.state import CELL

Row = dict[str, Any]
SUPERSCRIPTS = "¹²³⁴⁵⁶⁷⁸⁹"
ROWS_AT_ONCE = 25


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
        known = [row["build"], row["file"]["settings"], row["workload"], f"context {row['context']}" if row["context"] else None]
        return " · ".join(
            ["⇣ imported, not measured here", row["file"]["name"], row["file"]["kind"], *(str(part) for part in known if part)]
        )
    known = [row["provenance"], row["box"], row["build"], row["workload"], f"context {row['context']}" if row["context"] else None]
    return " · ".join(str(part) for part in known if part)


def tied_with_best(row: Row) -> tuple[str | None, set[str]]:
    """The row's best column (the smaller n_max wins a tie, off included) and all columns that cannot be told from the fastest."""
    good = {name: cell for name, cell in row["cells"].items() if cell["status"] == "ok" and cell["tok_s"]}
    if len(good) < 2:
        return None, set()
    fastest = max(good.values(), key=lambda cell: cell["tok_s"])
    tied = {name for name, cell in good.items() if _is_close(cell, fastest)}
    return min(tied, key=lambda name: 0 if name == "off" else int(name)), tied


def _is_close(cell: Row, fastest: Row) -> bool:
    if cell["tok_s"] * (1.0 + MIN_GAIN) > fastest["tok_s"]:
        return True
    return None not in (cell["tok_s_max"], fastest["tok_s_min"]) and cell["tok_s_max"] >= fastest["tok_s_min"]


def bands_of(rows: list[Row], columns: tuple[str, ...]) -> list[Band]:
    """Rows as bands of tiles."""
    return [_band(row, columns, footnotes(rows)) for row in rows]


def _band(row: Row, columns: tuple[str, ...], notes: dict[str, str]) -> Band:
    best, tied = tied_with_best(row)
    speculative = [row["cells"][name] for name in tied if name != "off"]
    shared = max((cell["speedup"] for cell in speculative if cell["speedup"]), default=None)
    tiles = {}
    for name in columns:
        cell = row["cells"].get(
            name, {"status": "not_run", "cell_id": None, "speedup": None, "tok_s": None, "why": "", "accept_share": None}
        )
        shade = cell["speedup"] and (shared if name in tied and "off" not in tied else cell["speedup"])
        shade = shade if cell["status"] == "ok" else None
        hover = f"{column_title(name)}: {cell_words(cell)}"
        tiles[name] = Tile(cell_lines(cell)[0], cell_small(cell, notes), hover, cell["cell_id"], shade, is_best=name == best)
    return Band(row_title(row), row_below(row), tiles)


def column_title(name: str) -> str:
    """“off” or “n_max 2”."""
    return "off" if name == "off" else f"n_max {name}"


def cell_small(cell: Row, notes: dict[str, str]) -> str:
    """Second line of a cell: speed-up with its sign, acceptance with its footnote."""
    _, gain, accepted = cell_lines(cell)
    mark = notes.get(denominator(cell.get("accept_denominator")), "")
    return " ".join(part for part in (gain, f"{accepted}{mark}") if part).strip()


def draw_matrix(rows: list[Row], *, key: str) -> None:
    """The figure; a click on a tile opens its receipt."""
    columns = columns_of(rows)
    figure = matrix_figure(bands_of(rows, columns), columns, dark=is_dark())
    spoken = f"Matrix of {len(rows)} rows by n_max; the same cells stand as links below."
    event = st.plotly_chart(figure, key=key, on_select="rerun", selection_mode="points", config={"displayModeBar": False}, alt=spoken)
    points = event["selection"]["points"] if event else []
    cell_id = points[0].get("customdata", [None])[0] if points else None
    if cell_id:
        go("receipt", **{CELL: cell_id})


def draw_footnotes(rows: list[Row], legend: str) -> None:
    """What the signs mean."""
    notes = " · ".join(f"{mark} {text}" for text, mark in footnotes(rows).items())
    st.caption(f"{literal(notes)}  \n{legend}" if notes else legend)


def draw_links(rows: list[Row]) -> None:
    """Every cell as a link in words, row by row: what the keyboard and a screen reader get."""
    notes = footnotes(rows)
    for place, row in enumerate(rows):
        with st.container(border=True, key=f"row-{place}", gap="xxsmall"):
            st.markdown(f"**{literal(row_title(row))}** :small[:gray[{literal(row_below(row))}]]")
            with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
                for name, cell in row["cells"].items():
                    if cell["cell_id"]:
                        text = f"{column_title(name)}: {cell_lines(cell)[0]} {cell_small(cell, notes)}".strip()
                        receipt_link(cell["cell_id"], text, help=f"{cell_words(cell)}. Opens the receipt.")
                if row["run_id"]:
                    run_link(row["run_id"], "run ↗", help="the run these figures come from")
            st.caption(literal(f"{row['why']}{_not_run_words(row)}"))


def _not_run_words(row: Row) -> str:
    blanks = [column_title(name) for name, cell in row["cells"].items() if cell["status"] == "not_run"]
    what = "not in the file" if row["provenance"] == "imported" else "not run"
    return f" — {what}: {', '.join(blanks)}" if blanks else ""


def table_of(rows: list[Row]) -> pd.DataFrame:
    """The same figures as a table of texts: one line per row, one column per n_max."""
    columns = columns_of(rows)
    return pd.DataFrame(
        [
            {
                "row": neutral(row_title(row)),
                **{column_title(name): cell_words(row["cells"][name]) if name in row["cells"] else blank("not_run") for name in columns},
                "why": row["why"],
                "from": neutral(row_below(row)),
            }
            for row in rows
        ]
    )


def csv_of(rows: list[Row]) -> bytes:
    """One line per cell, figures as numbers, texts with spreadsheet formulas put out of action."""
    out = io.StringIO()
    writer = csv.writer(out)
    key = ("model", "box", "build", "context", "workload", "c", "provenance", "run_id")
    value = (
        "status",
        "tok_s",
        "tok_s_min",
        "tok_s_max",
        "n",
        "speedup",
        "accept_share",
        "accept_denominator",
        "verdict",
        "source",
        "cell_id",
        "why",
    )
    writer.writerow([*key, "spill", "n_max", *value])
    for row in rows:
        for name, cell in row["cells"].items():
            writer.writerow([neutral(part) for part in (*(row[k] for k in key), row["spill"]["label"], name, *(cell[v] for v in value))])
    return out.getvalue().encode("utf-8")


def best_words(row: Row) -> tuple[str, str | None]:
    """A row's best in a few words with the id of its cell: “26.3 tok/s · 1.18× ▲ at n_max 1”."""
    best, _ = tied_with_best(row)
    if best is None:
        return "nothing to compare yet", None
    cell = row["cells"][best]
    if best == "off":
        return f"off is best: {cell_lines(cell)[0]} tok/s", cell["cell_id"]
    return f"{cell_lines(cell)[0]} tok/s · {speedup(cell['speedup'])} {sign(cell['verdict'])} at n_max {best}", cell["cell_id"]
