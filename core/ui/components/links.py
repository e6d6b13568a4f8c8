"""Doors between pages: address strings, link elements, and jumps out of a button or a click. Labels are text, never Markdown."""

from __future__ import annotations

from typing import NoReturn
from urllib.parse import urlencode

import streamlit as st

from core.ui.components.figures import literal
from core.ui.menu import entry
from core.ui.state import CELL, ENTRY, RUN, WORKSHEET


def url(page: str, **query: str) -> str:
    """Address of a page within the app: `url("receipt", cell=…)` → `/receipt?cell=…`."""
    path = "/" if page == "home" else f"/{page}"
    return f"{path}?{urlencode(query)}" if query else path


def receipt_url(cell_id: str) -> str:
    """`/receipt?cell=<cell_id>`"""
    return url("receipt", **{CELL: cell_id})


def run_url(run_id: str) -> str:
    """`/run?run=<run_id>`"""
    return url("run", **{RUN: run_id})


def worksheet_url(worksheet_id: str) -> str:
    """`/worksheet?worksheet=<worksheet_id>`"""
    return url("worksheet", **{WORKSHEET: worksheet_id})


def page_link(page: str, label: str, *, icon: str | None = None, help: str | None = None, **query: str) -> None:
    """A link that the keyboard reaches; `page` is the page's name in the menu list."""
    st.page_link(
        entry(page).path, label=f":primary[{literal(label)}]", icon=icon, help=literal(help) if help else None, query_params=query or None
    )


def receipt_link(cell_id: str, label: str, *, help: str | None = None) -> None:
    """A link to the receipt of a cell."""
    page_link("receipt", label, help=help, **{CELL: cell_id})


def run_link(run_id: str, label: str, *, help: str | None = None) -> None:
    """A link to the page of a run."""
    page_link("run", label, help=help, **{RUN: run_id})


def worksheet_link(worksheet_id: str, label: str, *, help: str | None = None) -> None:
    """A link to a worksheet."""
    page_link("worksheet", label, help=help, **{WORKSHEET: worksheet_id})


def decision_link(number: int, label: str, *, help: str | None = None) -> None:
    """A link to one entry of the ledger."""
    page_link("decision", label, help=help, **{ENTRY: str(number)})


def go(page: str, **query: str) -> NoReturn:
    """Leaves for another page at once; for button handlers and chart clicks."""
    st.switch_page(entry(page).path, query_params=query or None)
