"""A network errand beside the page: the page shows that it is out and draws itself anew when it is back."""

from __future__ import annotations

import streamlit as st

from core.ui.context import services


def errand(key: str, sentence: str) -> str:
    """State of the errand: none | running | done | failed; while it runs, `sentence` stands here."""
    state = services().jobs.state(key)
    if state == "running":
        st.fragment(_wait, run_every=0.5)(key, sentence)
    return state


def _wait(key: str, sentence: str) -> None:
    if services().jobs.state(key) != "running":
        st.rerun()
    st.text(f"◐ {sentence}")
