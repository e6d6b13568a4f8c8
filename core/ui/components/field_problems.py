"""Problems of a form beside the form: all at once, in the labels a person sees. What was typed stays in its fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import streamlit as st

from core.errors import BenchError, InvalidInput
from core.ui.problem import show


def show_problems(error: BenchError, labels: Mapping[str, str]) -> None:
    """One line a field; other errors in their usual form. Words from outside are text."""
    if not isinstance(error, InvalidInput):
        show(error)
        return
    with st.container(border=True):
        st.error(error.title, icon=":material/warning:")
        for field, sentence in error.problems.items():
            st.text(_line(field, sentence, labels))
        st.text(error.hint)


def _line(field: str, sentence: str, labels: Mapping[str, str]) -> str:
    """“Repetitions has to be at least 3.”; sentences that stand alone come after a colon; a list's entry is named by its place."""
    name, _, place = field.partition(".")
    label = labels.get(field) or labels.get(name, name.replace("_", " "))
    if place.isdigit():
        label = f"{label}, number {int(place) + 1},"
    return f"{label} {sentence}" if sentence[:1].islower() else f"{label}: {sentence}"


@contextmanager
def told(labels: Mapping[str, str]) -> Iterator[None]:
    """Shows a BenchError where it stands and lets the page go on, so that the form is still there."""
    try:
        yield
    except BenchError as error:
        show_problems(error, labels)
