"""Runs that wait for a box, in order, with buttons that change it for whoever may."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.roles import allowed
from core.domain.run import short
from core.errors import BenchError
from core.services.house import House
from core.services.queue import EARLIER, FIRST, LATER, move_in_queue
from core.ui.components.links import run_link
from core.ui.problem import show

_BUTTONS = (
    (FIRST, ":material/vertical_align_top:", "Put first"),
    (EARLIER, ":material/arrow_upward:", "One place earlier"),
    (LATER, ":material/arrow_downward:", "One place later"),
)


def queue_list(house: House, line: list[dict[str, Any]]) -> None:
    """`line`: the queue of one box."""
    may_move = len(line) > 1 and allowed(house.actor.role, "run.order")
    for place, run in enumerate(line, 1):
        run_id = run["run_id"]
        with st.container(horizontal=True, vertical_alignment="center", key=f"waits-{run_id}"):
            run_link(run_id, f"waits as number {place}: run {short(run_id)} by {run['requested_by']}")
            for to, icon, words in _BUTTONS if may_move else ():
                ends = place == len(line) if to == LATER else place == 1
                st.button("", icon=icon, help=words, key=f"{to}-{run_id}", disabled=ends, on_click=_move, args=(house, run_id, to))


def _move(house: House, run_id: str, to: str) -> None:
    try:
        move_in_queue(house, run_id, to)
    except BenchError as error:
        show(error)
