"""What stands on a page for somebody who has not signed in, or who may not see it. Nothing of the house is read for it."""

from __future__ import annotations

import streamlit as st

from core.domain.roles import ACTIONS, NOBODY, NONE, Actor
from core.ui.identity import has_sign_in


def closed_door(actor: Actor, action: str, *, is_old: bool) -> None:
    """Says why the page stays shut and what to do; ends the page."""
    with st.container(border=True, key="closed-door"):
        if actor == NOBODY and has_sign_in():
            _sign_in(is_old)
        elif actor == NOBODY:
            st.error("This app is closed until its link is opened", icon=":material/lock:")
            st.text("It runs without sign-in, for the person who started it. The link stands where it was started, after “Open”.")
            st.text("Each link opens one browser, for twelve hours; the next link is printed when one was used.")
        elif actor.role == NONE:
            st.error("No access yet", icon=":material/lock:")
            st.text(f"You are signed in as {actor.name}, and nobody has given you a role here.")
            st.text("An admin finds your name in the menu under People. Then open this page again.")
            _sign_out()
        else:
            st.error("Not allowed", icon=":material/lock:")
            st.text(f"This page needs the role {ACTIONS[action]}; yours is {actor.role}. An admin can change it in the menu under People.")
    st.stop()


def _sign_in(is_old: bool) -> None:
    st.info("You have been signed in for twelve hours: sign in again." if is_old else "Sign in to see this page.", icon=":material/key:")
    if st.button("Sign in", type="primary", key="sign-in"):
        st.login()


def _sign_out() -> None:
    if st.button("Sign out", key="sign-out-here"):
        st.logout()
