"""Search and filters of the ledger; they live in the address bar, so that a link shows the same entries."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.decision import KEEP, REJECT, WITHDRAWN

ALL = "all"
_DAYS = ("since", "until")


def ledger_filters(entries: list[dict[str, Any]]) -> dict[str, str]:
    """What is asked for, in the form of `ledger_entries`; offers the owners and models that the ledger holds."""
    known = {
        "verdict": [KEEP, REJECT, WITHDRAWN],
        "owner": sorted({entry["owner"] for entry in entries}),
        "model": sorted({str(entry["evidence"]["asked"]["model"]) for entry in entries}),
        "stale": ["yes", "no"],
    }
    found = {"q": st.text_input("Search", key="q", bind="query-params", placeholder="title, model, owner, reason")}
    is_filtered = any(st.query_params.get(name) for name in (*known, *_DAYS))
    with st.expander("Filters: verdict, owner, model, stale, date", expanded=is_filtered, key="ledger-filters"):
        for column, (name, values) in zip(st.columns(len(known)), known.items(), strict=True):
            chosen = column.selectbox(name, [ALL, *values], key=name, bind="query-params")
            found[name] = "" if chosen == ALL else chosen
        for column, name in zip(st.columns(2), _DAYS, strict=True):
            found[name] = column.text_input(f"{name} (YYYY-MM-DD)", key=name, bind="query-params").strip()
    return found
