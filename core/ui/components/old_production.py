"""The recipe that served before, where weights and speculation changed together: a measured cell, or figures typed in."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.forms import plain_numbers
from core.errors import InvalidInput


def old_production() -> dict[str, Any] | None:
    """What was typed, in the form of `OldProduction`; None while nothing was. Figures go on as typed: the form's check names them."""
    with st.expander("Old production recipe, if more than speculation changed", key="old-production", expanded=False):
        st.caption("Its four deltas stand in the ledger beside the priced change, apart from it.")
        label = st.text_input("Name of the old recipe", key="decision-old-label", persist_state="session", placeholder="IQ3 master, no MTP")
        cell = st.text_input(
            "Its cell, where it was measured here",
            key="decision-old-cell",
            persist_state="session",
            help="The cell in a receipt's address.",
        )
        low, high = st.columns(2)
        with low:
            least = st.text_input("tok/s, lowest", key="decision-old-low", persist_state="session")
        with high:
            most = st.text_input("tok/s, highest", key="decision-old-high", persist_state="session")
        scores = st.text_input("Suite scores", key="decision-old-scores", persist_state="session", placeholder="50, 52")
        fit = st.text_input("Fit", key="decision-old-fit", persist_state="session")
        modes = st.text_input("Failure modes", key="decision-old-modes", persist_state="session")
    typed = {"label": label, "cell_id": cell, "tok_s_min": least, "tok_s_max": most, "fit": fit, "failure_modes": modes}
    given = {name: text.strip() for name, text in typed.items() if text.strip()}
    if scores.strip():
        given["scores"] = _scores(scores)
    return {"label": "", **given} if given else None


def _scores(text: str) -> Any:
    try:
        return plain_numbers("scores", text)
    except InvalidInput:
        return text
