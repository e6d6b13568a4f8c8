"""Gates: the open ones with what would turn them to pass, then those that pass; and the suggestion with its arithmetic."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.price import Price

_MARKS = {"fail": "✕ fail", "missing": "○ missing"}


def gate_list(gates: list[dict[str, Any]], *, key: str) -> None:
    """Every gate; what is still to be done stands first."""
    passed = [gate["label"] for gate in gates if gate["state"] == "pass"]
    with st.container(gap="small", key=key):
        for gate in gates:
            if gate["state"] != "pass":
                st.text(f"{_MARKS[gate['state']]}: {gate['label']}. {gate['to_pass']}")
        if passed:
            st.text(f"✓ {len(passed)} of {len(gates)} pass: {', '.join(passed)}")


def open_gates(gates: list[dict[str, Any]]) -> list[str]:
    """Labels of the gates that do not pass."""
    return [gate["label"] for gate in gates if gate["state"] != "pass"]


def suggestion(view: dict[str, Any]) -> None:
    """The computed suggestion; a person decides."""
    found, price = view["suggestion"], view["price"]
    with st.container(border=True, key="suggestion"):
        action = found["action"]
        st.text(
            f"Suggestion: {action.upper()}" + (f", n_max={found['n_max']}" if found["n_max"] else "") if action else "No suggestion yet"
        )
        st.text(found["text"])
        c, there = view["worksheet"]["body"]["production_c"], view["production_price"]
        if price:
            st.text(("One stream: " if c > 1 else "") + _priced(price))
        if there and c > 1:
            st.text(f"At c={c}, per stream: {_priced(there)}")
        still = open_gates(view["gates"])
        st.caption(f"{len(still)} gate{'s' if len(still) > 1 else ''} open" if still else "all gates pass")
    if view["flips"]:
        st.warning(
            "At production concurrency the verdict differs from the one at a single stream. The production row decides.",
            icon=":material/call_split:",
        )


def _priced(price: Price) -> str:
    return price.note + (f" Dominant cost: {price.dominant}." if price.dominant else "")
