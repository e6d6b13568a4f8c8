"""Cells as lines, each a door to its receipt: arm, tok/s range, speed-up with sign, acceptance with denominator, why."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.ui.components.figures import blank, rate_range, share, sign, speedup
from core.ui.components.links import receipt_link


def cell_list(figures: list[dict[str, Any]], *, key: str) -> None:
    """`figures`: matrix cells with n_max and c. The tok/s is the door to the receipt."""
    grid = st.grid(3, wrap=False, min_column_width=100, gap=("xsmall", "small"), key=key)
    for word in ("arm", "tok/s, range (n)", "speed-up · acceptance · why"):
        with grid.cell():
            st.caption(word)
    for cell in figures:
        name, rates, *said = _words(cell)
        with grid.cell():
            st.text(name)
        with grid.cell():
            receipt_link(cell["cell_id"], f"{rates} ↗", help=f"Receipt of {name}")
        with grid.cell(), st.container(horizontal=True, gap="small"):
            for words in filter(None, said):
                st.text(words, width="content")


def arm(cell: dict[str, Any]) -> str:
    """“off”, “n=2”, “n=1 at c=4”."""
    return ("off" if cell["n_max"] == 0 else f"n={cell['n_max']}") + (f" at c={cell['c']}" if cell["c"] > 1 else "")


def _words(cell: dict[str, Any]) -> tuple[str, str, str, str, str]:
    if cell["status"] != "ok":
        return arm(cell), f"{blank(cell['status'])} {cell['status']}", "", "", cell["why"]
    paid = f"{speedup(cell['speedup'])} {sign(cell['verdict'])}" if cell["speedup"] is not None else "baseline"
    accepted = share(cell["accept_share"], cell["accept_denominator"]) if cell["n_max"] else ""
    return arm(cell), rate_range(cell["tok_s_min"], cell["tok_s_max"], cell["n"]), paid, accepted, cell["why"]
