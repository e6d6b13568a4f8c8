"""The run page while it matters: headline, Stop, stages, chart, log tail; drawn again each second from the store until the run is over."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.charts.repetitions import repetitions_figure
from core.domain.run import FINAL, short
from core.errors import BenchError
from core.services.again import again_words
from core.services.house import House
from core.services.runs import show_run, stop_run
from core.ui.components.figures import literal
from core.ui.components.links import worksheet_link
from core.ui.components.person import person
from core.ui.components.run_again import run_again
from core.ui.components.run_result import run_result
from core.ui.components.run_words import agent_words, box_words, left_words, now_words, state_badge
from core.ui.components.stage_list import stage_list
from core.ui.components.theme import is_dark
from core.ui.problem import show, show_stored, shown

EVERY_S = 1.0


def run_panel(house: House, run_id: str) -> None:
    """The whole page of one run. Raises NotFound."""
    is_over = show_run(house, run_id)["run"]["state"] in FINAL
    st.fragment(_panel, run_every=None if is_over else EVERY_S)(house, run_id, is_over)


def _panel(house: House, run_id: str, was_over: bool) -> None:
    with shown():
        view = show_run(house, run_id)
    is_over = view["run"]["state"] in FINAL
    if is_over and not was_over:
        st.rerun()
    _headline(house, view, is_over)
    _trouble(view["run"])
    stage_list(view)
    _chart(view["repetitions"])
    if is_over:
        run_again(house, view["run"])
        run_result(house, view)
    else:
        _log_tail(view)


def _headline(house: House, view: dict[str, Any], is_over: bool) -> None:
    run = view["run"]
    st.subheader(f"{short(run['run_id'])} on {literal(house.box_name(run['box_id']))} · {literal(run['title'])}", anchor=False)
    words, button = st.columns([5, 1], vertical_alignment="center")
    with words, st.container(horizontal=True, vertical_alignment="center"):
        state_badge(run["state"])
        said = " · ".join(part for part in (now_words(view), left_words(view)) if part)
        if said:
            st.text(said)
        if again_words(run["request"]):
            st.caption(again_words(run["request"]))
        if not is_over:
            st.caption(" · ".join(part for part in (box_words(run), agent_words(run, view["live"])) if part))
    if not is_over:
        button.button("Stop", key="stop-run", disabled=bool(run["cancel_at"]), on_click=_stop, args=(house, run["run_id"]), width="stretch")
    if run["worksheet_id"]:
        worksheet_link(run["worksheet_id"], "Open its worksheet")


def _stop(house: House, run_id: str) -> None:
    try:
        stop_run(house, run_id, who=person() or "somebody at this machine")
    except BenchError as error:
        show(error)


def _trouble(run: dict[str, Any]) -> None:
    if run["unreachable_since"] and run["state"] not in FINAL:
        st.warning("The box cannot be reached. The run goes on there by itself; this page takes up what it wrote as soon as it answers.")
        st.text((run["problem"] or {}).get("message", ""))
    elif run["problem"]:
        show_stored(run["problem"])


def _chart(repetitions: list[dict[str, Any]]) -> None:
    points = [(one["stage"], one["tok_s"]) for one in repetitions if one["tok_s"] is not None]
    if points:
        st.caption("Each point is one counted repetition; the bar behind is its stage's median.")
        figure = repetitions_figure(points, dark=is_dark())
        spoken = "tok/s of each counted repetition, stage after stage; the medians stand in the list above."
        st.plotly_chart(figure, key="repetitions", config={"displayModeBar": False}, alt=spoken)


def _log_tail(view: dict[str, Any]) -> None:
    live = view["live"]
    st.caption(f"Engine log, end of {live.log_name}" if live.log_name else "Engine log: no engine was started yet.")
    if live.log_tail:
        st.code("\n".join(live.log_tail.splitlines()[-12:]), language=None)
