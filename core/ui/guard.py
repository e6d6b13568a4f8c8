"""The first call of every page script. A page must not trust its router: whoever may see it is decided here, once roles exist."""

from __future__ import annotations

import streamlit as st

from core.services.house import House
from core.ui.context import house
from core.ui.problem import shown


def enter(title: str, subtitle: str) -> House:
    """Draws title and the one sentence that says what the page is for; returns what the use cases are called with.

    Ends the page with its error where the store cannot be opened.
    """
    st.title(title, anchor=False)
    st.caption(subtitle)
    with shown():
        return house()
