"""Who sits at this tab: the signed-in name, else a name that the person gives, kept for the session and marked as a local identity."""

from __future__ import annotations

import streamlit as st

from core.domain.roles import Actor
from core.ui.context import services
from core.ui.identity import remember_name, take_name
from core.ui.state import NAME, PERSON

_HERE = "person-here"


def person() -> str:
    """The name, without blanks around it; empty when none was given."""
    return str(st.session_state.get(NAME, ""))


def person_field(actor: Actor) -> None:
    """The field itself, or who is signed in. The shell draws it on every page, so that the name stays while pages change."""
    if actor.is_named:
        take_name(actor.name)
        st.caption("signed in as")
        st.text(actor.name)
        st.caption(f"role: {actor.role}")
        if st.button("Sign out", key="sign-out"):
            st.logout()
        return
    st.text_input(
        "Your name", key=PERSON, max_chars=80, placeholder="who decides here", autocomplete="name", on_change=_take, args=(PERSON,)
    )
    st.caption("local identity" if person() else "local identity: needed to propose, run or decide")


def ask_name() -> None:
    """Asks on the page itself while no name is given: on a phone the menu is folded away. What is typed goes to the menu's field."""
    if not person():
        st.text_input(
            "Who are you?", key=_HERE, max_chars=80, placeholder="needed to propose, run or decide", on_change=_take, args=(_HERE,)
        )


def _take(field: str) -> None:
    """A field that the page no longer shows may still send that it is empty: that is nobody's doing."""
    if take_name(str(st.session_state[field])):
        st.session_state[PERSON] = person()
        remember_name(services())
