"""What a finished run leaves: stop reason, winner, drift, cells with their receipts, raw logs."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from core.services.house import House
from core.services.runs import read_raw
from core.ui.components.cell_list import cell_list
from core.ui.components.download import download
from core.ui.components.figures import size
from core.ui.components.run_extras import run_extras
from core.ui.problem import shown

_TAIL_LINES, _TAIL_CHARS = 15, 6000


def run_result(house: House, view: dict[str, Any]) -> None:
    """Everything below the stages once the run is over."""
    finished = view["finished"]
    if finished:
        _verdict(finished)
        _words(view)
    if view["figures"]:
        st.subheader("Cells", anchor=False)
        cell_list(view["figures"], key="cells")
    elif not finished:
        st.info("This run measured nothing.")
    run_extras(house, view)
    _logs(house, view)


def _verdict(finished: dict[str, Any]) -> None:
    left, middle, right = st.columns(3)
    with left, st.container(border=True):
        st.caption("why no longer draft was tried")
        st.text((finished.get("stop") or {}).get("text") or "The climb was not finished.")
    with middle, st.container(border=True):
        st.caption("winner")
        st.text(_winner(finished))
    with right, st.container(border=True):
        st.caption("drift")
        st.text(_drift(finished.get("drifted")))
    if finished.get("left"):
        st.warning("Processes of the engine could not be ended on the box: " + ", ".join(str(pid) for pid in finished["left"]))


def _words(view: dict[str, Any]) -> None:
    """What the noise of the opening baseline allows to see, and a verdict that turns at the production concurrency."""
    noise = next((verdict["noise"] for verdict in view["verdicts"] if verdict.get("noise")), None)
    if noise:
        st.text(noise["text"])
    flip = (view["finished"].get("production") or {}).get("text")
    if flip:
        st.warning("The verdict turns at the production concurrency; the row there decides.")
        st.text(flip)


def _winner(finished: dict[str, Any]) -> str:
    winner = finished.get("winner")
    if winner is None:
        return "none: the baseline was not measured"
    if not winner and not finished.get("stop"):
        return "none: no draft length was measured to its end"
    return f"n={winner}" if winner else "off: no n_max beats it beyond noise"


def _drift(drifted: bool | None) -> str:
    if drifted is None:
        return "not known: the baseline was not measured twice"
    return "drifted: the baseline moved, this run cannot support keep" if drifted else "none: the baseline held"


def _logs(house: House, view: dict[str, Any]) -> None:
    if view["exits"] and view["run"]["state"] != "done":
        st.caption(f"Engine log, end of server-{view['exits'][-1]['server']}.log")
        st.code(_tail(str(view["exits"][-1].get("log_tail", ""))), language=None)
    names = [row["name"] for row in view["raw_files"]]
    if not names:
        return
    name = st.selectbox("Raw engine log", names, index=None, placeholder="choose one to read it", key="raw-log")
    if name:
        with shown():
            data = read_raw(house, view["run"]["run_id"], name)
        own, label = view["run"]["run_id"], f"Download ({size(len(data))})"
        made = partial(read_raw, house, own, name)
        download(house, label, made, what=("raw log", f"{own} {name}"), name=name, mime="text/plain", key="raw-log-download")
        st.code(_tail(data[-_TAIL_CHARS:].decode("utf-8", "replace")), language=None)


def _tail(text: str) -> str:
    return "\n".join(text[-_TAIL_CHARS:].splitlines()[-_TAIL_LINES:]) or "(empty)"
