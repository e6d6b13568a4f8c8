"""What stands behind a measured receipt, one tab at a time: telemetry, command, raw log, decisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from core.charts.telemetry import Trace, telemetry_figure
from core.domain.telemetry_view import readings_of, series_of, throttled
from core.services.explain import arm_samples
from core.services.house import House
from core.ui.components.cell_conditions import conditions, repetitions
from core.ui.components.context_view import acceptance_against_context
from core.ui.components.figures import NOT_RECORDED, literal
from core.ui.components.import_preview import raw_file
from core.ui.components.own_log import own_logs
from core.ui.components.receipt_more import commands, raw_logs, resting
from core.ui.components.theme import is_dark

View = dict[str, Any]
TABS = "receipt-tabs"


def behind(house: House, view: View) -> None:
    """What its own log says stands open; of the rest only the open tab is drawn: a raw log can be long."""
    if view["kind"] == "imported":
        raw_file(house, view["imported"]["sha256"])
    if view["kind"] != "measured":
        return
    with st.container(border=True):
        st.markdown("**Read from its own log**")
        own_logs(view["log_readings"])
    parts: dict[str, Callable[[], None]] = {
        "Cell gate": lambda: conditions(view["gate"]),
        "Repetitions": lambda: repetitions(house, view),
        "Acceptance by context": lambda: acceptance_against_context(house, view),
        "Telemetry": lambda: telemetry(view),
        "Command": lambda: commands(view),
        "Raw log": lambda: raw_logs(house, view),
        "Decisions resting on this cell": lambda: resting(view),
    }
    for tab, draw in zip(st.tabs(list(parts), key=TABS, on_change="rerun"), parts.values(), strict=True):
        if tab.open:
            with tab:
                draw()


def telemetry(view: View) -> None:
    """Heat, clocks, power and memory while the cell's repetitions ran."""
    series = series_of(readings_of(arm_samples(view)))
    if not series:
        st.text(f"{NOT_RECORDED} Temperature, clocks and power were not recorded for this cell.")
        return
    traces = [Trace(name, at, values) for name, (at, values) in series.items()]
    st.plotly_chart(
        telemetry_figure(traces, dark=is_dark()), key="receipt-telemetry", config={"displayModeBar": False}, alt=", ".join(series)
    )
    reasons = throttled(arm_samples(view))
    if reasons:
        st.caption(literal(f"Throttled: {', '.join(reasons)}."))
    else:
        st.caption("Throttling was not read." if reasons is None else "Nothing throttled.")
