"""Fields that save themselves: what was seen, what is typed, what went wrong. Nothing typed is taken away by a save that fails.

A field's state: `<key>` what stands in it, `<key>-seen` (entry number, value) the person looked at, `<key>-problem` the last refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from core.errors import BenchError
from core.ui.components.field_problems import show_problems

Save = Callable[[int], dict[str, Any]]


def follow(key: str, number: int, value: Any) -> None:
    """Call before the field is drawn: it takes over what stands by now, unless something of the person's own is in it."""
    seen = st.session_state.get(f"{key}-seen")
    if seen is None or key not in st.session_state or st.session_state[key] == seen[1]:
        st.session_state[key] = value
        st.session_state[f"{key}-seen"] = (number, value)


def save(key: str, write: Save) -> None:
    """Body of a field's `on_change`: writes over the entry that was seen. A text set aside leaves the field; the merge view has it."""
    try:
        entry = write(st.session_state[f"{key}-seen"][0])
    except BenchError as problem:
        st.session_state[f"{key}-problem"] = problem
        return
    st.session_state.pop(f"{key}-problem", None)
    if entry["is_set_aside"]:
        del st.session_state[f"{key}-seen"]
    else:
        st.session_state[key] = entry["value"]
        st.session_state[f"{key}-seen"] = (entry["entry"], entry["value"])


def seen_before(slot: str, number: int) -> int:
    """For a form with its own button: the entry number that the page showed before this click."""
    before = st.session_state.get(slot, number)
    st.session_state[slot] = number
    return int(before)


def adopt(*keys: str) -> None:
    """After a form was saved: its fields take over what stands from the next drawing on."""
    for key in keys:
        st.session_state.pop(f"{key}-seen", None)


def refusal(key: str, labels: Mapping[str, str]) -> None:
    """The last refusal, beside the field; gone after the next save."""
    problem = st.session_state.get(f"{key}-problem")
    if problem is not None:
        show_problems(problem, labels)
