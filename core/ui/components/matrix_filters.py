"""The matrix's filters. They live in the address bar, so that a link shows the same thing."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import streamlit as st

from core.services.matrix import PROVENANCES
from core.ui.components.links import url
from core.ui.state import PUBLISHED, PUBLISHED_DRAFT, PUBLISHED_PLACEMENT

ALL = "all"
FILTERS = ("model", "box", "workload", "c", "provenance")


def choose(rows: list[dict[str, Any]]) -> dict[str, str]:
    """One select box per filter; offers what the rows hold. An unknown value in a link falls back to `all`."""
    chosen = {}
    for column, name in zip(st.columns(len(FILTERS)), FILTERS, strict=True):
        known = list(PROVENANCES) if name == "provenance" else sorted({str(row[name]) for row in rows if row[name] is not None})
        chosen[name] = column.selectbox(name, [ALL, *known], key=name, bind="query-params")
    return chosen


def matching(rows: list[dict[str, Any]], chosen: dict[str, str]) -> list[dict[str, Any]]:
    """The rows that fit; a row that does not say (a published one has no box) fits only `all`."""
    return [row for row in rows if all(value in (ALL, str(row[name])) for name, value in chosen.items())]


def link_to_this(chosen: dict[str, str]) -> str:
    """The address of this very view, the switch and its own filters included."""
    query = {name: value for name, value in chosen.items() if value != ALL}
    if st.session_state.get(PUBLISHED):
        names = (PUBLISHED_PLACEMENT, PUBLISHED_DRAFT)  # drawn further down: on the first run only the address knows them
        own = {name: st.session_state.get(name) or st.query_params.get(name, ALL) for name in names}
        query |= {PUBLISHED: "true", **{name: value for name, value in own.items() if value != ALL}}
    base = (st.context.url or "").split("?")[0] or url("matrix")
    return f"{base}?{urlencode(query)}" if query else base
