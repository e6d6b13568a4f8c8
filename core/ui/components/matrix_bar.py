"""The line between filters and matrix: what else to show, the link, the files, and which page of a long list."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from core.services.house import House
from core.services.matrix_files import FORMATS
from core.ui.components.download import download
from core.ui.components.grid import ROWS_AT_ONCE

Rows = Callable[[], list[dict[str, Any]]]


def link_and_files(house: House, link: str, rows: Rows, *, is_empty: bool) -> None:
    """The address to copy, and the rows that fit as files; a file is made when it is asked for."""
    with st.container(horizontal=True, horizontal_alignment="right"):
        with st.popover("Copy link"):
            st.code(link, language=None, wrap_lines=True)
        with st.popover("Download", disabled=is_empty):
            st.caption("One line a cell: all rows that fit, not only this page.")
            for name, (write, file_name, mime) in FORMATS.items():
                made = partial(_made, write, rows)
                key = f"download-{name}"
                download(house, name, made, what=("matrix", name), name=file_name, mime=mime, key=key, width="stretch")


def _made(write: Callable[[list[dict[str, Any]]], bytes], rows: Rows) -> bytes:
    return write(rows())


def one_page(heads: list[Any], key: str) -> list[Any]:
    """The part of a long list that this page shows; the number of the page is in the address bar."""
    pages = -(-len(heads) // ROWS_AT_ONCE)
    if pages < 2:
        return heads
    start = (st.pagination(pages, key=key, bind="query-params") - 1) * ROWS_AT_ONCE
    st.caption(f"Rows {start + 1} to {min(start + ROWS_AT_ONCE, len(heads))} of {len(heads)}.")
    return heads[start : start + ROWS_AT_ONCE]
