"""Head of a worksheet: title, what was asked, how far it is priced, who saved last, and the way to a clone of it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.templates import template
from core.services.house import House
from core.ui.components.figures import literal, when
from core.ui.components.links import page_link, worksheet_link
from core.ui.state import FROM


def worksheet_head(house: House, view: dict[str, Any]) -> None:
    """Title, progress and two lines of facts, all as text."""
    row, asked = view["worksheet"], view["worksheet"]["body"]
    done, whole = view["priced"]
    st.subheader(literal(row["title"]), anchor=False)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge("decided" if view["decisions"] else "draft", color="green" if view["decisions"] else "gray")
        st.text(f"{done} of {whole} priced")
        st.text(f"proposed by {row['created_by']}, {when(row['created_at'])}")
        last = view["last_entry"]
        st.text(f"autosaved by {last['typed_by']}, {when(last['noted_at'])}" if last else "nothing typed in yet")
    st.progress(done / whole)
    if asked.get("reference"):
        st.text(f"{asked['model']} · published row {asked['reference']} · {asked['source']}")
        st.info("Transcribed figures: there is nothing to run here. Propose the change on a box of yours to measure it.")
        page_link("propose", "Propose a change", icon=":material/edit_note:")
        return
    where = f"{asked['model']} · {asked['engine_id']} on {house.box_name(asked['box_id'])}"
    st.text(
        f"{template(asked.get('change')).label}: {where} · {house.workload_title(asked['workload_id'])}"
        f" · n_max up to {asked['n_max']} · {asked['repetitions']} repetitions · production concurrency {asked['production_c']}"
    )
    with st.container(horizontal=True):
        page_link("propose", "Clone this worksheet", icon=":material/content_copy:", **{FROM: row["worksheet_id"]})
        if asked.get("cloned_from"):
            worksheet_link(asked["cloned_from"], "cloned from an earlier one ↗")
