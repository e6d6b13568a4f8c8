"""The one Services instance of the app process. All `st.cache_*` calls of the project stand here."""

from __future__ import annotations

import streamlit as st

from core.bootstrap import Services, build
from core.services.house import House
from core.ui.identity import actor_at_this_tab


@st.cache_resource(show_spinner=False)
def services() -> Services:
    """Opens the store and starts follower and housekeeper, once per process; pages, routes and lifespan share it."""
    opened = build()
    opened.follower.start()
    opened.housekeeper.start()
    return opened


def house() -> House:
    """What the use cases are called with, in the hands of who sits at this tab."""
    opened = services()
    return opened.house.acting(actor_at_this_tab(opened))


@st.cache_resource(show_spinner=False)
def workload_titles() -> dict[str, str]:
    """Workload id → the name that people read; the catalog ships with the product and does not change while it runs."""
    return {workload.id: workload.title for workload in house().workloads.values()}
