"""Text that a spreadsheet program would run as a formula, put out of action; and rows as the bytes of a CSV file."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
# Where a program parts columns at semicolons or tabs, the rest of a text becomes a cell of its own.
_FORMULA_INSIDE = re.compile(r'([;\t\r\n]"?[ \u00a0]*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])')


def neutral(value: Any) -> Any:
    """A text that a spreadsheet would run as a formula gets an apostrophe in front, also behind a separator; numbers stay numbers."""
    if not isinstance(value, str):
        return value
    text = _FORMULA_INSIDE.sub(r"\1'", value)
    return f"'{text}" if text.lstrip(" \u00a0").startswith(_FORMULA_STARTS) else text


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """UTF-8, one line a row, every text neutral."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(header)
    writer.writerows([neutral(part) for part in row] for row in rows)
    return out.getvalue().encode("utf-8")
