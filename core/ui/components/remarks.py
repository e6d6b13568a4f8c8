"""Remarks that the published source makes without a figure for a cell."""

from __future__ import annotations

from typing import Any

import streamlit as st


def remarks(rows: list[dict[str, Any]]) -> None:
    """Section and sentence, as text."""
    with st.expander(f"Published remarks without a cell ({len(rows)})"):
        for row in rows:
            st.caption(f"§ {row['section']} · transcribed")
            st.text(row["body"]["text"])
