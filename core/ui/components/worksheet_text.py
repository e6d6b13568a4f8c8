"""One typed text of the worksheet (a note, fit, failure modes) behind a small button in its own cell; it saves itself when it is left."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.revisions import place_words
from core.services.house import House
from core.services.worksheets import type_text
from core.ui.components.autosave import follow, refusal, save
from core.ui.components.figures import literal, when
from core.ui.components.person import person

LABELS = {"by": "Your name (in the menu)", "text": "Text"}


def text_button(house: House, view: dict[str, Any], field: str, side: str, label: str) -> None:
    """The button and, behind it, the text; who saved it last stands below."""
    worksheet_id, entry = view["worksheet"]["worksheet_id"], view["evidence"].typed.get((field, side))
    key = f"edit-{worksheet_id}-{field}-{side}"
    follow(key, entry["entry"] if entry else 0, str(entry["value"]) if entry else "")
    with st.popover(label, type="tertiary", key=f"{key}-open", help=literal(place_words(field, side))):
        st.text_area(
            place_words(field, side), key=key, height=120, width=320, on_change=_saved, args=(house, worksheet_id, field, side, key),
            placeholder="saves itself when you leave the field",
        )  # fmt: skip
        refusal(key, LABELS)
        if entry:
            st.caption(f"saved by {literal(entry['typed_by'])}, {when(entry['noted_at'])}")


def _saved(house: House, worksheet_id: str, field: str, side: str, key: str) -> None:
    text = st.session_state[key]
    save(key, lambda over: type_text(house, worksheet_id, field, side, text, by=person(), over=over))
