"""Light or dark, for what does not follow the theme by itself: the colours inside charts."""

from __future__ import annotations

import streamlit as st


def is_dark() -> bool:
    """Whether the tab shows the dark theme; may lag one run behind a switch."""
    return getattr(st.context.theme, "type", None) == "dark"
