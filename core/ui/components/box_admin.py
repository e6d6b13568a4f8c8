"""For admins, below a box: change its registration, confirm a new host key with both fingerprints side by side, take it off the list."""

from __future__ import annotations

import streamlit as st

from core.domain.box import LOCKED, Box
from core.domain.roles import allowed
from core.services.box_admin import BOX, JUMP, edit_box, form_of, pin_key, read_shown_key, remove_box
from core.services.house import House
from core.ui.components.box_fields import LABELS, box_fields, came
from core.ui.components.box_limits import box_limits
from core.ui.components.field_problems import told
from core.ui.context import services


def box_admin(house: House, box: Box) -> None:
    """Nothing for others, and nothing for this machine: its registration comes with the app."""
    if box.kind == "local" or not allowed(house.actor.role, "box.edit"):
        return
    with st.expander("Change this box", key=f"change-{box.box_id}"):
        _edit(house, box)
        box_limits(house, box)
        st.divider()
        if box.jump:
            _pin(house, box, JUMP, box.jump_fingerprint)
        if not box.jump or box.jump_fingerprint:
            _pin(house, box, BOX, box.fingerprint)
        st.divider()
        _remove(house, box)


def _edit(house: House, box: Box) -> None:
    shown, own = form_of(box), box.box_id
    words = {**LABELS, "engine": "Engine id in the box's own list"} if box.mode == LOCKED else LABELS
    left_out = ("models", "python") if box.mode == LOCKED else ()
    with st.form(f"edit-{own}"):
        values = box_fields({name: value for name, value in shown.items() if name not in left_out}, key=f"edit-{own}", labels=words)
        is_sent = st.form_submit_button("Save changes", key=f"save-box-{own}")
    done = False
    if is_sent:
        with told(words):
            edit_box(house, own, values)
            done = True
    if done:
        st.toast("The box is registered anew. Check it again.", icon=":material/dns:")
        st.rerun()


def _pin(house: House, box: Box, of: str, pinned: str) -> None:
    """Two steps: read what the box, or its jump host, shows now, then a person says that it is the right one."""
    own = box.box_id if of == BOX else f"{box.box_id}-jump"
    job, whom = f"new-key-{own}", "the box" if of == BOX else f"the jump host {box.jump}"
    st.text(f"Host key of {whom}: {f'pinned {pinned}' if pinned else 'none is pinned yet, so nothing is sent there'}")
    if st.button("Read the key it shows now", key=f"read-key-{own}"):
        services().jobs.forget(job)
        services().jobs.start(job, lambda: read_shown_key(house, box.box_id, of=of))
    if not came(job, "Asking the host for its key …"):
        return
    key_line, fingerprint = services().jobs.result(job)
    if fingerprint == pinned:
        st.success(f"{whom[0].upper()}{whom[1:]} shows the pinned key.")
        return
    if pinned:
        st.warning("It shows another key. If nobody changed it, somebody may stand between: do not pin it.", icon=":material/warning:")
    st.text(f"pinned: {pinned or 'none'}\nshown:  {fingerprint}")
    is_same = st.checkbox(f"The shown fingerprint is the one the admin of {whom} gave me", key=f"new-key-same-{own}")
    done = False
    if st.button("Pin this key", key=f"pin-{own}", disabled=not is_same):
        with told(LABELS):
            pin_key(house, box.box_id, key_line=key_line, fingerprint=fingerprint, seen=pinned, of=of)
            done = True
    if done:
        services().jobs.forget(job)
        st.rerun()


def _remove(house: House, box: Box) -> None:
    st.text("Taking the box off the list keeps everything that was measured on it.")
    is_sure = st.checkbox(f"Take {box.box_id} off the list", key=f"sure-{box.box_id}")
    done = False
    if st.button("Remove box", key=f"remove-{box.box_id}", disabled=not is_sure):
        with told(LABELS):
            remove_box(house, box.box_id)
            done = True
    if done:
        st.rerun()
