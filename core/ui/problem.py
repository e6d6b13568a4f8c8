"""Shows an error a person can act on: what happened, what was kept, what to do. Anything else is a defect and stays loud."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from core.errors import BenchError, InvalidInput


def show(error: BenchError) -> None:
    """The error as text: names from outside are never rendered as Markdown."""
    with st.container(border=True, key=f"problem-{abs(hash((error.title, error.message))) % 10**8}"):
        st.error(error.title, icon=":material/warning:")
        if isinstance(error, InvalidInput):
            for name, sentence in error.problems.items():
                st.text(f"{name.replace('_', ' ')} {sentence}")
        else:
            st.text(error.message)
        if error.hint:
            st.text(error.hint)


def show_stored(stored: dict[str, str]) -> None:
    """The same for a problem kept on a run."""
    show(BenchError(stored.get("message", ""), title=stored.get("title"), hint=stored.get("hint", "")))


@contextmanager
def shown() -> Iterator[None]:
    """Turns a BenchError into its message and ends the page there."""
    try:
        yield
    except BenchError as error:
        show(error)
        st.stop()
