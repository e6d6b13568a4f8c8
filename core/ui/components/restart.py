"""After a server restart a tab keeps its old content and looks live. This notices, says so, and draws the page anew."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

import streamlit as st

from core.ui.state import SERVER_START

LOOK_EVERY_S = 4.0
START_ID = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC, {secrets.token_hex(2)}"


@st.fragment(run_every=LOOK_EVERY_S)
def restart_notice() -> None:
    """Shows which server start drew this page.

    The id stands in a field because session state is gone after a restart while values on the screen are sent again.
    """
    seen = st.session_state.get(SERVER_START, START_ID)
    st.session_state[SERVER_START] = START_ID
    st.text_input("server start", key=SERVER_START, disabled=True)
    if seen != START_ID:
        st.toast("The server was started anew. This page was drawn again; nothing stored is lost.", icon="🔄", duration="long")
        st.rerun()
