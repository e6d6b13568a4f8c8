"""The matrix as files: CSV, Parquet and Markdown, one line a cell. Read again they hold what the screen shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pandas as pd

from core.domain.spreadsheet import csv_bytes

Row = dict[str, Any]
_KEYS = ("model", "box", "build", "context", "workload", "c", "provenance", "run_id", "at")
_VALUES = (
    "status", "tok_s", "tok_s_min", "tok_s_max", "n", "speedup", "accept_share", "accept_denominator", "verdict", "source", "cell_id",
    "why",
)  # fmt: skip
COLUMNS = (*_KEYS, "spill", "spill_layers", "host_share", "stale", "suggested", "n_max", *_VALUES)
_WHOLE = ("context", "c", "spill_layers", "n")
_REAL = ("host_share", "tok_s", "tok_s_min", "tok_s_max", "speedup", "accept_share")


def lines_of(rows: list[Row]) -> list[Row]:
    """One dict a cell, blanks included; `None` is unknown."""
    return [
        {
            **{name: row[name] for name in _KEYS},
            "spill": row["spill"]["label"],
            "spill_layers": row["spill"]["layers"],
            "host_share": row["spill"]["host_share"],
            "stale": "; ".join(row["stale"]),
            "suggested": row["suggestion"]["action"],
            "n_max": n_max,
            **{name: cell[name] for name in _VALUES},
        }
        for row in rows
        for n_max, cell in row["cells"].items()
    ]


def csv_of(rows: list[Row]) -> bytes:
    """Figures as numbers with every digit, an unknown as an empty field, formulas put out of action."""
    return csv_bytes(COLUMNS, ([line[name] for name in COLUMNS] for line in lines_of(rows)))


def parquet_of(rows: list[Row]) -> bytes:
    """Typed columns: whole numbers, reals and texts, unknown as null. Nothing runs in it, so texts stay as they are."""
    frame = pd.DataFrame(lines_of(rows), columns=list(COLUMNS))
    types = {name: "Int64" if name in _WHOLE else "Float64" if name in _REAL else "string" for name in COLUMNS}
    return bytes(frame.astype(types).to_parquet(index=False))


def markdown_of(rows: list[Row]) -> bytes:
    """A table that reads in a merge request; texts are escaped, an unknown is an empty field."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + " --- |" * len(COLUMNS)]
    lines += ["| " + " | ".join(_markdown(line[name]) for name in COLUMNS) + " |" for line in lines_of(rows)]
    return ("\n".join(lines) + "\n").encode("utf-8")


def _markdown(value: Any) -> str:
    if value is None:
        return ""
    return re.sub(r"([\\`*_{}\[\]<>|#~$!])", r"\\\1", " ".join(str(value).split()))


FORMATS: dict[str, tuple[Callable[[list[Row]], bytes], str, str]] = {
    "CSV": (csv_of, "matrix.csv", "text/csv"),
    "Parquet": (parquet_of, "matrix.parquet", "application/vnd.apache.parquet"),
    "Markdown": (markdown_of, "matrix.md", "text/markdown"),
}
