"""A field for the name of who answers or types: the person's own until somebody writes another one."""

from __future__ import annotations

import streamlit as st

from core.ui.components.person import person


def follow_person(key: str) -> str:
    """What stands in the field `key`. Call before the field is drawn: it takes over the name given in the menu, also a later one.

    A run that is cut short puts the name in without drawing the field, and the browser then sends what stood there before. So earlier
    names count as the person's own until the field has come back with the present one.
    """
    name, slot = person(), f"{key}-from"
    own, stands = st.session_state.get(slot, []), st.session_state.get(key)
    st.session_state[slot] = [name] if stands == name else [*own, name]
    if stands is None or stands in own:
        st.session_state[key] = name
    return str(st.session_state[key]).strip()
