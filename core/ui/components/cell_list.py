"""Cells as lines, each a door to its receipt: arm, tok/s range, speed-up with sign, acceptance with denominator, why."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.ui.components.figures import blank, rate_range, share, sign, speedup
from core.ui.components.links import receipt_link

_HEAD = ((2, "arm"), (2, "tok/s, range (n)"), (2, "speed-up"), (2, "acceptance"), (3, "why"), (1, "receipt"))


def cell_list(figures: list[dict[str, Any]], *, key: str) -> None:
    """`figures`: matrix cells with n_max and c."""
    grid = st.grid(12, wrap=False, min_column_width=58, gap="xxsmall", key=key)
    for span, word in _HEAD:
        with grid.cell(column_span=span):
            st.caption(word)
    for cell in figures:
        for (span, _), words in zip(_HEAD, _words(cell), strict=False):
            with grid.cell(column_span=span):
                st.text(words)
        with grid.cell():
            receipt_link(cell["cell_id"], "open", help=f"Receipt of {arm(cell)}")


def arm(cell: dict[str, Any]) -> str:
    """“off”, “n=2”, “n=1 at c=4”."""
    return ("off" if cell["n_max"] == 0 else f"n={cell['n_max']}") + (f" at c={cell['c']}" if cell["c"] > 1 else "")


def _words(cell: dict[str, Any]) -> tuple[str, str, str, str, str]:
    if cell["status"] != "ok":
        return arm(cell), f"{blank(cell['status'])} {cell['status']}", "", "", cell["why"]
    paid = f"{speedup(cell['speedup'])} {sign(cell['verdict'])}" if cell["speedup"] is not None else "baseline"
    accepted = share(cell["accept_share"], cell["accept_denominator"]) if cell["n_max"] else ""
    return arm(cell), rate_range(cell["tok_s_min"], cell["tok_s_max"], cell["n"]), paid, accepted, cell["why"]
