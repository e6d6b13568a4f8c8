"""A checklist: what is shown by evidence is ticked, what was found is pointed out, what nobody knows stays open. No box to tick by hand."""

from __future__ import annotations

import streamlit as st

from core.domain.checklists import DONE, SEEN, Line
from core.services.house import House
from core.services.worksheets import list_worksheets
from core.ui.components.figures import literal, when
from core.ui.components.links import page_link

_MARKS = {DONE: "✓", SEEN: "⚠"}


def checklist(lines: list[Line], *, key: str) -> None:
    """One block a line: mark and text, then the evidence, then what to do and the door to where it is checked."""
    done, said = sum(one["state"] == DONE for one in lines), {one["evidence"] for one in lines}
    is_same = len(said) == 1 and len(lines) > 1
    st.caption(f"{done} of {len(lines)} shown by evidence" + (f". {literal(said.pop())}" if is_same else ""))
    for number, one in enumerate(lines):
        with st.container(gap=None, key=f"{key}-{number}"):
            st.text(f"{_MARKS.get(one['state'], '○')} {one['text']}")
            with st.container(horizontal=True, gap="small"):
                if not is_same:
                    st.text(one["evidence"], width="content")
                if one["door"]:
                    page, query = one["door"]
                    page_link(page, f"{page} ↗", **query)
            if one["state"] != DONE and one["advice"]:
                st.caption(one["advice"])


def chosen_worksheet(house: House, slot: str) -> str | None:
    """The worksheet the lists look at: newest first, in the address bar; None where there is none yet."""
    rows = {row["worksheet"]["worksheet_id"]: row["worksheet"] for row in list_worksheets(house)}
    if not rows:
        return None
    asked = st.query_params.get(slot, "")
    if f"choose-{slot}" not in st.session_state:
        st.session_state[f"choose-{slot}"] = asked if asked in rows else next(iter(rows))
    words = {one: f"{row['title']} · {when(row['created_at'])}" for one, row in rows.items()}
    chosen = st.selectbox("Worksheet", list(rows), format_func=lambda one: words[one], key=f"choose-{slot}")
    st.query_params[slot] = chosen
    return str(chosen)
