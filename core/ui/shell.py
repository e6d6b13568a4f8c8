"""The frame around every page: page settings, menu, the person's name, and the notice after a server restart."""

from __future__ import annotations

import streamlit as st

from core.domain.roles import NONE, allowed
from core.services.start_up import unsaved
from core.ui.components.person import person_field
from core.ui.components.restart import restart_notice
from core.ui.context import house, services
from core.ui.identity import settle_name
from core.ui.menu import ENTRIES
from core.ui.problem import show, shown
from core.ui.state import PERSON

st.set_page_config(page_title="Draftledger", page_icon="🧾", layout="wide", initial_sidebar_state="auto")

is_left = bool(st.session_state.get(PERSON))  # typed in a tab of a server that is gone; a name that is recalled comes after
with shown():
    settle_name(services())
    opened = house()
sections: dict[str, list[st.Page]] = {}
for entry in ENTRIES:
    page = st.Page(
        entry.path,
        title=entry.title,
        url_path=None if entry.name == "home" else entry.name,
        default=entry.name == "home",
        visibility="hidden" if entry.is_hidden or not allowed(opened.actor.role, entry.action) else "visible",
    )
    sections.setdefault(entry.section, []).append(page)
chosen = st.navigation(sections, position="sidebar", expanded=True)
st.set_page_config(
    page_title="Draftledger" if chosen.title == "Home" else f"{chosen.title} · Draftledger"
)  # so that tabs can be told apart

with st.sidebar:
    if opened.actor.role != NONE:
        person_field(opened.actor)
        restart_notice(is_left, opened.version)

if opened.actor.role != NONE:
    for problem in unsaved(opened):
        show(problem)
chosen.run()
