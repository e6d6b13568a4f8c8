"""Head of a worksheet: title, what was asked, how far it is filled."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.services.house import House
from core.ui.components.figures import literal, when


def worksheet_head(house: House, view: dict[str, Any]) -> None:
    """Title and two lines of facts, all as text."""
    row, asked = view["worksheet"], view["worksheet"]["body"]
    filled = sum(field["state"] == "ok" for field in view["fields"])
    box = next((one.name for one in house.store.boxes.all() if one.box_id == asked["box_id"]), asked["box_id"])
    st.subheader(literal(row["title"]), anchor=False)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge("decided" if view["decisions"] else "draft", color="green" if view["decisions"] else "gray")
        st.text(f"{filled} of {len(view['fields'])} filled · proposed by {row['created_by']}, {when(row['created_at'])}")
    st.text(
        f"{asked['model']} · {asked['engine_id']} on {box} · {asked['workload_id']} · n_max up to {asked['n_max']}"
        f" · {asked['repetitions']} repetitions · production concurrency {asked['production_c']}"
    )
