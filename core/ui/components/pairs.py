"""A small table of names and values."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.ui.components.figures import literal


def pairs(lines: list[tuple[str, str]]) -> None:
    """One line a pair, wrapping; its cells know Markdown, so they get literal words."""
    frame = pd.DataFrame([(literal(name), literal(value)) for name, value in lines], columns=["what", "value"])
    st.table(frame, border="horizontal", hide_index=True, hide_header=True)
