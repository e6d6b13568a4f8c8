"""For admins, below a box: the most that one run may ask of it."""

from __future__ import annotations

import streamlit as st

from core.domain.box import LOCKED, Box
from core.domain.box_limits import NAMES
from core.services.box_limits import set_limits
from core.services.house import House
from core.ui.components.field_problems import told


def box_limits(house: House, box: Box) -> None:
    """Four numbers; an empty one is no limit."""
    own, shown = box.box_id, box.limits.model_dump()
    with st.form(f"limits-{own}"):
        st.text("The most that one run may ask for. Empty: no limit beside what the form allows.")
        if box.mode == LOCKED:
            st.caption("The box's owner has limits of their own in allow.json; the lower one counts.")
        columns = st.columns(len(NAMES))
        values = {}
        for column, (name, label) in zip(columns, NAMES.items(), strict=True):
            with column:
                values[name] = st.number_input(label, value=shown[name], step=1, placeholder="none", key=f"limit-{own}-{name}")
        is_sent = st.form_submit_button("Save limits", key=f"save-limits-{own}")
    done = False
    if is_sent:
        with told(NAMES):
            set_limits(house, own, values)
            done = True
    if done:
        st.toast("The limits count from the next run on.", icon=":material/speed:")
        st.rerun()
