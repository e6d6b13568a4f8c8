"""Markdown tables anywhere in a text: rows by header name. Cells may be padded, the separator row and the outer pipes may be missing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from core.formats.lines import Line

KEPT = 20_000  # rows of one file
_RULE = re.compile(r"^[\s|:=+-]*$")
_KNOWN = ("t/s", "tg", "s_tg t/s", "a.len", "rounds", "decode_speedup", "avg_pred_t/s")


@dataclass
class Table:
    """Header cells and rows of cells, as text."""

    header: list[str]
    rows: list[list[str]] = field(default_factory=list)

    def column(self, *names: str) -> int | None:
        """Index of the first header that equals one of the names, case ignored."""
        lowered = [cell.lower() for cell in self.header]
        return next((lowered.index(name.lower()) for name in names if name.lower() in lowered), None)

    def has(self, name: str) -> bool:
        """Whether a column of that name stands in the header."""
        return self.column(name) is not None


def cells_of(text: str) -> list[str]:
    """The cells of one row, trimmed."""
    return [cell.strip() for cell in text.strip().strip("|").split("|")]


class TableFacts:
    """Collects tables with a header that a reader knows; other tables are passed over."""

    def __init__(self) -> None:
        self.tables: list[Table] = []
        self.count = 0

    def handlers(self) -> dict[str, str]:
        """Keyword in a line -> name of the method that reads such lines."""
        return {"|\n": "on_row"}

    def on_row(self, line: Line) -> None:
        """One line that ends with a pipe."""
        text = line.text
        if _RULE.match(text) or text.count("|") < 3:
            return
        cells = cells_of(text)
        lowered = {cell.lower() for cell in cells}
        if lowered & set(_KNOWN) and len(cells) <= 64:
            if not self.tables or self.tables[-1].header != cells:
                self.tables.append(Table(cells))
        elif self.tables and self.count < KEPT and len(cells) >= 2:
            self.tables[-1].rows.append(cells[:64])
            self.count += 1
