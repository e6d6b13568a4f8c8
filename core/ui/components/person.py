"""Who sits at this tab: the signed-in name, else a name that the person gives, kept for the session and marked as a local identity."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.domain.roles import Actor
from core.ui.state import PERSON


def person() -> str:
    """The name, without blanks around it; empty when none was given."""
    return str(st.session_state.get(PERSON, "")).strip()


def person_field(actor: Actor, *, on_change: Callable[[], None]) -> None:
    """The field itself, or who is signed in. The shell draws it on every page, so that the name stays while pages change."""
    if actor.is_named:
        st.session_state[PERSON] = actor.name
        st.caption("signed in as")
        st.text(actor.name)
        st.caption(f"role: {actor.role}")
        if st.button("Sign out", key="sign-out"):
            st.logout()
        return
    st.text_input("Your name", key=PERSON, max_chars=80, placeholder="who decides here", autocomplete="name", on_change=on_change)
    st.caption("local identity" if person() else "local identity: needed to propose, run or decide")
