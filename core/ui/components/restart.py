"""After a server restart a tab keeps its old content and looks live. This asks now and then, and says so when the page was drawn again."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from core.ui.state import RESTARTED, SERVER_START

LOOK_EVERY_S = 4.0
START_ID = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S.%f}"


@st.fragment(run_every=LOOK_EVERY_S)
def restart_notice(is_left: bool, version: str) -> None:
    """Says which version serves this tab, and whether the tab was open before the server started.

    The beat alone makes a tab of a dead server ask the new one, which draws everything anew. Session state is gone by then, but what a
    person typed is sent again: a session that is new and already has a typed name is an old tab (`is_left`). One without a name is redrawn
    silently.
    """
    if SERVER_START not in st.session_state:
        st.session_state[SERVER_START] = START_ID
        st.session_state[RESTARTED] = is_left
    st.caption(f"Draftledger {version}")
    if st.session_state.get(RESTARTED):
        st.info(
            "The server was started anew; this page was drawn again. What was stored is kept, unsaved input may be gone.",
            icon=":material/refresh:",
        )
