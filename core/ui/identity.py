"""Who sits at this tab: by the sign-in where one is set up, else by the cookie of the local link. Asked anew at every run of a page."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.bootstrap import Services
from core.domain.roles import NOBODY, Actor
from core.services.identity import is_sign_in_over, local_actor, signed_in_actor
from core.ui.state import NAME, PERSON


def has_sign_in() -> bool:
    """Whether [auth] is set up. No secrets file at all is an error to ask about, and means no."""
    try:
        return "auth" in st.secrets
    except FileNotFoundError:
        return False


def claims() -> dict[str, Any]:
    """What the identity provider said, signed; empty before signing in."""
    return dict(st.user.to_dict()) if has_sign_in() and st.user.is_logged_in else {}


def actor_at_this_tab(services: Services) -> Actor:
    """The actor of this run; NOBODY where nothing proves one."""
    if has_sign_in():
        held = claims()
        return signed_in_actor(services.house, held) if held else NOBODY
    if services.door.holds(st.context.cookies.get(services.door.cookie_name, "")):
        return local_actor(str(st.session_state.get(NAME, "")))
    return NOBODY


def settle_name(services: Services) -> None:
    """The name of this run. Call before the name's field is drawn.

    It is kept beside the field, and only another name replaces it: a field that is away while pages change, or whose value got lost in a
    run that was cut short, comes back empty without anybody's doing, and is filled again. A new session begins with what was given
    last in this browser.
    """
    take_name(str(st.session_state.get(PERSON, "")))
    if NAME not in st.session_state and not has_sign_in():
        take_name(services.door.name_of(st.context.cookies.get(services.door.cookie_name, "")))
    if NAME in st.session_state and not st.session_state.get(PERSON):
        st.session_state[PERSON] = st.session_state[NAME]


def take_name(name: str) -> bool:
    """Keeps a name for this session; nothing but blanks is no name and leaves the earlier one."""
    if is_name := bool(name.strip()):
        st.session_state[NAME] = name.strip()
    return is_name


def remember_name(services: Services) -> None:
    """Keeps the name that was just given for this browser's other tabs."""
    services.door.remember(st.context.cookies.get(services.door.cookie_name, ""), str(st.session_state[NAME]))


def must_sign_in_again(services: Services) -> bool:
    """Whether this browser is signed in, but for longer than twelve hours."""
    held = claims()
    return bool(held) and is_sign_in_over(services.house, held)
