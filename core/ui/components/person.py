"""Who sits at this tab: a name that the person gives, kept for the session and marked as a local identity."""

from __future__ import annotations

import streamlit as st

from core.ui.state import PERSON


def person() -> str:
    """The name given in the sidebar, without blanks around it; empty when none was given."""
    return str(st.session_state.get(PERSON, "")).strip()


def person_field() -> None:
    """The field itself. The shell draws it on every page, so that the name stays while pages change."""
    st.text_input("Your name", key=PERSON, max_chars=80, placeholder="who decides here", autocomplete="name")
    st.caption("local identity" if person() else "local identity: no name given yet, so nothing can be proposed or decided")
