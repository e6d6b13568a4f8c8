"""The first call of every page script. A page must not trust its router: who may see it is decided here, before anything is read."""

from __future__ import annotations

import streamlit as st

from core.domain.roles import allowed
from core.services.house import House
from core.ui.components.closed_door import closed_door
from core.ui.context import house, services
from core.ui.identity import must_sign_in_again
from core.ui.problem import shown


def enter(title: str, subtitle: str, *, action: str = "see") -> House:
    """Draws title and the one sentence that says what the page is for; returns what the use cases are called with.

    Ends the page with its error where the store cannot be opened, and with a closed door where the actor may not do `action`.
    """
    st.title(title, anchor=False)
    st.caption(subtitle)
    with shown():
        opened = house()
        if not allowed(opened.actor.role, action):
            closed_door(opened.actor, action, is_old=must_sign_in_again(services()))
        return opened
