"""Who changed what and when, and the comments: literal text, newest change first, oldest comment first."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.services.house import House
from core.services.worksheet_edits import comment, comments_of, worksheet_history
from core.ui.components.field_problems import told
from core.ui.components.figures import literal, when
from core.ui.components.person import person

LABELS = {"text": "Comment", "by": "Your name (in the menu)"}
SHOWN = 100


def history_view(house: House, view: dict[str, Any]) -> None:
    """Every revision, those set aside included."""
    lines = worksheet_history(house, view["worksheet"]["worksheet_id"])
    with st.expander(f"History ({len(lines)})", key="history", icon=":material/history:"):
        if not lines:
            st.text("Nothing was typed in yet. What runs measure has its own history: each value links to its run.")
        for line in lines[:SHOWN]:
            mark = " · set aside, another text stood by then" if line["is_set_aside"] else ""
            origin = f" · {literal(line['origin'])}" if line["origin"] else ""
            st.caption(f"{when(line['at'])} · {literal(line['who'])} · {literal(line['place'])}{origin}{mark}")
            st.text(f"{line['old'] or '·'}  →  {line['new'] or '·'}")
        if len(lines) > SHOWN:
            st.caption(f"{len(lines) - SHOWN} earlier ones are kept in the database")


def comments_view(house: House, view: dict[str, Any]) -> None:
    """Comments and the field for the next one."""
    worksheet_id = view["worksheet"]["worksheet_id"]
    comments = comments_of(house, worksheet_id)
    with st.expander(f"Comments ({len(comments)})", key="comments", icon=":material/comment:"):
        for one in comments:
            st.caption(f"{literal(one['written_by'])}, {when(one['noted_at'])}")
            st.text(one["text"])
        slot = f"comment-text-{worksheet_id}-{len(comments)}"  # the next comment gets an empty field, a refused one keeps its own
        text, is_done = st.text_area(LABELS["text"], key=slot, height=80, persist_state="session"), False
        if st.button("Add comment", key="add-comment"):
            with told(LABELS):
                comment(house, worksheet_id, text, by=person())
                is_done = True
    if is_done:
        st.rerun()
