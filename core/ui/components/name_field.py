"""A field for the name of who answers or types: the person's own until somebody writes another one."""

from __future__ import annotations

import streamlit as st

from core.ui.components.person import person


def follow_person(key: str) -> str:
    """What stands in the field `key`. Call before the field is drawn: it takes over the name given in the menu, also a later one."""
    name, seen = person(), f"{key}-from"
    if key not in st.session_state or st.session_state[key] == st.session_state.get(seen):
        st.session_state[key] = name
    st.session_state[seen] = name
    return str(st.session_state[key]).strip()
