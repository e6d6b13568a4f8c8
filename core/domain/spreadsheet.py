"""Words from people, logs and files in spreadsheets: text, never a formula that runs when the file is opened."""

from __future__ import annotations

from typing import Any

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001  full-width forms run too in some programs


def neutral(value: Any) -> Any:
    """A text that a spreadsheet would run as a formula gets an apostrophe in front; numbers stay numbers."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value
