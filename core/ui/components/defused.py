"""A table as it may be downloaded: the toolbar of every table writes its cells into a CSV file, so no text in it may begin a formula."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from core.domain.spreadsheet import neutral

_FIGURE = re.compile(r"[+-]\d[\d., ]*(?: ?[%×A-Za-z/]{1,8})?\Z")  # “−3.1 %” is a figure in words, and stays as it reads


def defused(frame: pd.DataFrame) -> pd.DataFrame:
    """The same rows; a text that a spreadsheet would run gets an apostrophe in front, figures and blanks stay."""
    return frame.map(_cell) if len(frame) else frame


def _cell(value: Any) -> Any:
    return value if isinstance(value, str) and _FIGURE.match(value) else neutral(value)
