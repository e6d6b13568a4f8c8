"""The matrix's filters. They live in the address bar, so that a link shows the same thing."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import streamlit as st

from core.domain.matrix_filter import PROVENANCES, SORTS
from core.ui.components.figures import literal
from core.ui.components.links import url
from core.ui.components.workload_names import workload_words
from core.ui.state import PUBLISHED, PUBLISHED_DRAFT, PUBLISHED_PLACEMENT

ALL = "all"
FILTERS = {
    "model": "model", "build": "engine build", "box": "box", "workload": "workload", "context": "context", "c": "streams (c)",
    "provenance": "provenance", "age": "age",
}  # fmt: skip
SORT = "sort"
AGES = {"7 days": 7, "30 days": 30, "90 days": 90, "365 days": 365}
_WIDTH_PX = 148  # five beside each other on a laptop, two on a phone
_FIELDS = {"c": "concurrency", "age": "age_days"}


def filter_bar(known: dict[str, list[Any]]) -> tuple[dict[str, str], list[str]]:
    """All filters behind one button that says how many are set; what the address asked for in vain comes back in words."""
    asked = {name: st.session_state.get(name) or st.query_params.get(name, ALL) for name in FILTERS}
    many = sum(value in {*_offered(name, known), *_offered(name, known).values()} - {ALL} for name, value in asked.items())
    with st.popover(f"Filters ({many})" if many else "Filters", icon=":material/filter_list:", key="filters"):
        return _boxes(known, tuple(FILTERS))


def filters_said(chosen: dict[str, str], ignored: list[str]) -> None:
    """Which filters are set, and which the address asked for in vain."""
    words = [f"{FILTERS[name]} {_words(name, value)}" for name, value in chosen.items() if value != ALL]
    if words:
        st.caption(literal(f"Only: {' · '.join(words)}"))
    if ignored:
        st.caption(literal(f"The address asks for {' and '.join(ignored)}, which no row has: ignored."))


def choose(known: dict[str, list[Any]], names: tuple[str, ...] = tuple(FILTERS)) -> dict[str, str]:
    """One select box per filter; offers what the rows hold. A value that nothing has is ignored, and said so."""
    chosen, ignored = _boxes(known, names)
    filters_said({}, ignored)
    return chosen


def _boxes(known: dict[str, list[Any]], names: tuple[str, ...]) -> tuple[dict[str, str], list[str]]:
    chosen, ignored = {}, []
    with st.container(horizontal=True):
        for name in names:
            options = _offered(name, known)
            asked = None if name in st.session_state else st.query_params.get(name)
            if asked is not None and asked not in options and asked in options.values():
                st.session_state[name] = _words(name, asked)  # a link by id
            elif asked is not None and asked not in options:
                ignored.append(f"{FILTERS[name]} “{asked}”")
            chosen[name] = options[st.selectbox(FILTERS[name], list(options), key=name, bind="query-params", width=_WIDTH_PX)]
    return chosen, ignored


def _offered(name: str, known: dict[str, list[Any]]) -> dict[str, str]:
    """What a filter offers: words → value."""
    return {ALL: ALL, **{_words(name, value): value for value in _options(name, known)}}


def _words(name: str, value: str) -> str:
    return workload_words(value) if name == "workload" else value


def _options(name: str, known: dict[str, list[Any]]) -> list[str]:
    if name == "provenance":
        return list(PROVENANCES)
    return list(AGES) if name == "age" else [str(value) for value in known[name]]


def choose_sort() -> str:
    """How rows stand within a model."""
    return str(st.selectbox("sort", SORTS, key=SORT, bind="query-params", width=200))


def wanted(chosen: dict[str, str]) -> dict[str, Any]:
    """What the service is asked for."""
    return {_FIELDS.get(name, name): AGES.get(value, value) for name, value in chosen.items() if value != ALL}


def link_to_this(chosen: dict[str, str], sort: str) -> str:
    """The address of this very view, the switch and its own filters included."""
    query = {name: value for name, value in chosen.items() if value != ALL} | ({SORT: sort} if sort != SORTS[0] else {})
    if st.session_state.get(PUBLISHED):
        names = (PUBLISHED_PLACEMENT, PUBLISHED_DRAFT)  # drawn further down: on the first run only the address knows them
        own = {name: st.session_state.get(name) or st.query_params.get(name, ALL) for name in names}
        query |= {PUBLISHED: "true", **{name: value for name, value in own.items() if value != ALL}}
    base = (st.context.url or "").split("?")[0] or url("matrix")
    return f"{base}?{urlencode(query)}" if query else base
