"""What nobody should read out of a decision."""

from __future__ import annotations

import streamlit as st

from core.domain.decision import NOT_SHOWN


def not_shown() -> None:
    """The standing sentence of ledger, memo and runbook."""
    with st.container(border=True):
        st.markdown("**What this does not show**")
        st.text(NOT_SHOWN)
