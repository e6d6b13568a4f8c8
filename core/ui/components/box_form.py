"""Adding a box: read its host key (before it the jump host's), a person confirms the fingerprint. Only then anything is stored."""

from __future__ import annotations

import secrets
from typing import Any

import streamlit as st

from core.domain.box import BoxForm
from core.services.boxes import NO_PIN, add_box, read_host_key, read_jump_key
from core.services.house import House
from core.ui.components.box_card import start_check
from core.ui.components.box_fields import EMPTY, LABELS, box_fields, came
from core.ui.components.field_problems import told
from core.ui.components.person import person
from core.ui.context import services
from core.ui.state import PENDING_BOX


def box_form(house: House) -> None:
    """All steps. The errands of this tab have keys of their own."""
    job = st.session_state.setdefault(PENDING_BOX, f"host-key-{secrets.token_hex(8)}")
    before = f"jump-key-{job}"
    values = _fields()
    if values is not None:
        services().jobs.forget(job)
        services().jobs.forget(before)
        if values["jump"].strip():
            services().jobs.start(before, lambda: read_jump_key(house, values))
        else:
            services().jobs.start(job, lambda: read_host_key(house, values))
    if came(before, "Asking the jump host for its key …"):
        _confirm_jump(house, before, job)
    if came(job, "Asking the host for its key …"):
        _confirm(house, job, before)


def _confirm_jump(house: House, before: str, job: str) -> None:
    """The jump host is entered only after its own key was compared; the box is asked through it then."""
    form, pin = services().jobs.result(before)
    with st.container(border=True, key="confirm-jump"):
        st.text(f"The jump host {form.jump} shows this {pin.key_line.split(maxsplit=1)[0]} host key:")
        st.code(pin.fingerprint, language=None)
        is_same = st.checkbox("The fingerprint is the one the jump host's admin gave me", key="jump-is-same")
        if st.button("Go on to the box", key="through-jump", disabled=not is_same):
            services().jobs.forget(job)
            services().jobs.start(job, lambda: read_host_key(house, form.model_dump(), jump=pin))


def _fields() -> dict[str, Any] | None:
    """What was typed, when it was sent; the fields keep it."""
    with st.form("box-form"):
        values = box_fields(EMPTY, key="box", persist_state="session")
        is_locked = st.checkbox("Locked: the box's owner has installed the gate (docs/agent.md)", key="box-locked", persist_state="session")
        st.caption("Of a locked box, Engine is an id of the owner's list; models and Python are the owner's and stay empty here.")
        if not st.form_submit_button("Read host key", key="read-host-key"):
            return None
    return {**values, "mode": "locked" if is_locked else "standard"}


def _confirm(house: House, job: str, before: str) -> None:
    form, key_line, fingerprint = services().jobs.result(job)
    jump = services().jobs.result(before)[1] if form.jump else NO_PIN
    with st.container(border=True, key="confirm-box"):
        _shown_key(form, key_line, fingerprint)
        is_same = st.checkbox("The fingerprint is the one the box's admin gave me", key="fingerprint-is-same")
        added = None
        if st.button("Add box", type="primary", key="add-box", disabled=not is_same):
            with told(LABELS):
                added = add_box(house, form, key_line=key_line, fingerprint=fingerprint, who=person(), jump=jump)
    if added:
        services().jobs.forget(job)
        services().jobs.forget(before)
        start_check(house, added.box_id)
        st.toast("The box is added and is being checked.", icon=":material/dns:")
        st.rerun()


def _shown_key(form: BoxForm, key_line: str, fingerprint: str) -> None:
    st.text(f"{form.name}: {form.user}@{form.host}:{form.port} shows this {key_line.split(maxsplit=1)[0]} host key:")
    st.code(fingerprint, language=None)
    st.caption("Compare it with what the box itself says: `ssh-keygen -lf` on its public host key. Nothing is stored yet.")
