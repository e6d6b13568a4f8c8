"""People and their roles: one card each, and the form for somebody who has not signed in yet."""

from __future__ import annotations

import hashlib
from typing import Any

import streamlit as st

from core.domain.roles import LADDER
from core.services.house import House
from core.services.people import erase_name, list_names, set_person
from core.ui.components.field_problems import told
from core.ui.components.figures import when
from core.ui.identity import has_sign_in

LABELS = {"key": "Issuer and subject", "name": "Name", "role": "Role", "is_disabled": "Disabled"}
_MAY = {
    "none": "nothing",
    "viewer": "see everything but these admin pages",
    "runner": "also propose, type, import, start and stop sweeps",
    "decider": "also keep or reject",
    "admin": "also boxes, people, tokens, audit log",
}


def people_list(house: House, people: list[dict[str, Any]]) -> None:
    """Everybody who signed in or was given a role."""
    st.text("\n".join(f"{role}: {words}" for role, words in _MAY.items()))
    if not has_sign_in():
        st.info("Sign-in is not set up: whoever holds the link printed at start is admin, and this list is not asked. See docs/doors.md.")
    if not people:
        st.info("Nobody has signed in yet.")
    for row in people:
        _card(house, row)


def _card(house: House, row: dict[str, Any]) -> None:
    mark = hashlib.sha256(row["key"].encode()).hexdigest()[:12]
    with st.container(border=True, key=f"person-{mark}"):
        words, role, disabled, button = st.columns([5, 2, 1.4, 1], vertical_alignment="bottom")
        with words:
            st.text(f"{row['name']}\n{row['key']}")
            st.caption(f"{'disabled' if row['is_disabled'] else row['role']} since {when(row['noted_at'])}")
        new_role = role.selectbox(LABELS["role"], LADDER, index=LADDER.index(row["role"]), key=f"role-{mark}")
        is_disabled = disabled.checkbox(LABELS["is_disabled"], value=row["is_disabled"], key=f"disabled-{mark}")
        done = False
        if button.button("Save", key=f"save-{mark}", width="stretch"):
            with told(LABELS):
                set_person(house, {"key": row["key"], "name": row["name"], "role": new_role, "is_disabled": is_disabled})
                done = True
        if done:
            st.rerun()


def person_form(house: House) -> None:
    """A person by issuer and subject, before their first sign-in."""
    with st.form("person-form"):
        issuer = st.text_input("Issuer", key="person-issuer", placeholder="https://login.example.org")
        subject = st.text_input("Subject", key="person-subject", placeholder="as the identity provider names the person for good")
        name = st.text_input(LABELS["name"], key="person-name")
        role = st.selectbox(LABELS["role"], LADDER[1:], key="person-role")
        is_sent = st.form_submit_button("Give role", key="give-role")
    if is_sent:
        done = False
        with told(LABELS):
            set_person(house, {"key": f"{issuer.strip()} {subject.strip()}".strip(), "name": name, "role": role})
            done = True
        if done:
            st.rerun()


def names_kept(house: House) -> None:
    """Names behind handles, and the way to erase one."""
    names = [row["name"] for row in list_names(house)]
    st.subheader("Names and their handles", anchor=False)
    st.text(
        "Decisions, audit log, worksheets, comments, imports and registrations hold a random handle for each person; the name lies beside"
        " them. Erasing it leaves the handle, and the hash chains hold. A name in somebody's own words, on a run (it went to the box with"
        " it) or in a copy outside this computer stays."
    )
    if not names:
        st.info("No name is kept yet.")
        return
    with st.form("erase-name"):
        name = st.selectbox("Name", names, index=None, key="erase-which", placeholder="choose one")
        is_sure = st.checkbox("Erase it for good", key="erase-sure")
        is_sent = st.form_submit_button("Erase the name", key="erase-name-button")
    if not is_sent:
        return
    if not (name and is_sure):
        st.warning("Choose a name and say that you are sure. Nothing was erased.")
        return
    count = None
    with told(LABELS):
        count = erase_name(house, name)
    if count is not None:
        st.toast(f"Erased. {count} handle{'s' if count > 1 else ''} now stand{'' if count > 1 else 's'} for nobody by name.")
        st.rerun()
