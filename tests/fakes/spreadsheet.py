"""A CSV file as a spreadsheet program opens it: quotes count only where a cell begins, and what begins like a formula is one.

The rules are those that LibreOffice Calc and Excel share, taken at their strictest: blanks in front are passed over, `=`, `+`, `-` and `@`
(the wide forms of East Asian text too) begin a formula unless the whole cell is a number, an apostrophe in front makes the cell a text.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass

SEPARATORS = (",", ";", "\t")  # which one a program takes depends on the country it is set to
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z")
_FORMULA = re.compile(r"[=+\-@\uff1d\uff0b\uff0d\uff20]")


@dataclass(frozen=True)
class Cell:
    """`kind`: blank, number, text or formula; a text without the apostrophe that made it one."""

    kind: str
    text: str


def cell_of(raw: str) -> Cell:
    shown = raw.lstrip(" \u00a0\t\r\n")
    if not raw:
        return Cell("blank", "")
    if _NUMBER.match(shown):
        return Cell("number", shown)
    if _FORMULA.match(shown):
        return Cell("formula", shown)
    return Cell("text", raw[1:] if raw.startswith("'") else raw)


def opened(data: bytes, separator: str = ",") -> list[list[Cell]]:
    """Rows of cells."""
    return [[cell_of(raw) for raw in row] for row in csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=separator)]


def formulas(data: bytes) -> list[str]:
    """Every cell that would run, whichever separator the program takes."""
    return [cell.text for separator in SEPARATORS for row in opened(data, separator) for cell in row if cell.kind == "formula"]
