"""The one download button: its file is made when it is clicked, gets a clean name, and the audit log says who took it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from streamlit.elements.lib.layout_utils import Width

from core.domain.file_names import file_name
from core.services.downloads import take
from core.services.house import House


def download(
    house: House,
    label: str,
    make: Callable[[], str | bytes],
    *,
    what: tuple[str, str],
    name: str,
    mime: str,
    key: str,
    width: Width = "content",
) -> None:
    """`what`: kind of the file and which one it is, for the audit log; `name`: of the file, cleaned here."""
    st.download_button(
        label,
        lambda: take(house, *what, make),
        file_name=file_name(name),
        mime=mime,
        key=key,
        on_click="ignore",
        width=width,
    )
