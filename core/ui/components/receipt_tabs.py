"""What stands behind a measured receipt, one tab at a time: gates, residuals, telemetry, command, raw log, decisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from core.services.house import House
from core.ui.components.cell_conditions import conditions, telemetry
from core.ui.components.import_preview import raw_file
from core.ui.components.own_log import own_logs
from core.ui.components.receipt_more import commands, raw_logs, residuals, resting

View = dict[str, Any]
TABS = "receipt-tabs"


def behind(house: House, view: View, explained: View) -> None:
    """What its own log says stands open; of the rest only the open tab is drawn: a raw log can be long."""
    if view["kind"] == "imported":
        raw_file(house, view["imported"]["sha256"])
    if view["kind"] != "measured":
        return
    with st.container(border=True):
        st.markdown("**Read from its own log**")
        own_logs(view["log_readings"])
    parts: dict[str, Callable[[], None]] = {
        "Gates and residuals": lambda: _checks(view, explained),
        "Telemetry": lambda: telemetry(house, view),
        "Command": lambda: commands(view),
        "Raw log": lambda: raw_logs(house, view),
        "Decisions resting on this cell": lambda: resting(view),
    }
    for tab, draw in zip(st.tabs(list(parts), key=TABS, on_change="rerun"), parts.values(), strict=True):
        if tab.open:
            with tab:
                draw()


def _checks(view: View, explained: View) -> None:
    conditions(view["gate"])
    residuals(view, explained)
