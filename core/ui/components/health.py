"""What doctor found, and backups; everything is text."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from core.domain.run import short
from core.errors import BenchError
from core.services.backups import back_up
from core.services.doctor import doctor, mend
from core.services.house import House
from core.ui.components.defused import defused
from core.ui.components.errand import errand
from core.ui.components.figures import size
from core.ui.context import services
from core.ui.problem import show

_ABOUT = {"host": "This computer", "store": "Store", "ledgers": "Ledgers", "decisions": "Decisions", "boxes": "Boxes"}
_NETWORK, _BACKUP, _MEND = "doctor", "backup", "mend"


def health(house: House) -> None:
    """Findings from what is here, at once; asking the boxes and the full comparison are an errand beside the page."""
    found = _answer_of_errand() or doctor(house, ask_boxes=False, compare=False)
    _findings(found)
    if any("--mend" in one["todo"] for one in found["findings"]):
        _start(_MEND, "Mend this now", lambda: mend(house))
    _told(_MEND, "Mending what can be mended …", _mended())
    for about, title in _ABOUT.items():
        facts = [fact["what"] for fact in found["facts"] if fact["about"] == about]
        if facts:
            st.subheader(title, anchor=False)
            for fact in facts:
                st.text(fact)
    with st.container(horizontal=True):
        _start(_NETWORK, "Ask the boxes and compare all rows", lambda: doctor(house, ask_boxes=True))
        _start(_BACKUP, "Back up now", lambda: back_up(house))
    _told(_NETWORK, "Asking the boxes, making the rows anew from their sources …", "Asked just now.")
    _told(_BACKUP, "Copying the database and its files …", "Backed up.")
    backup_list(house)


def _findings(found: dict[str, Any]) -> None:
    if found["ok"]:
        st.success("Nothing is wrong as far as was looked.")
    alike: dict[tuple[str, str], list[str]] = {}
    for one in found["findings"]:
        alike.setdefault((one["about"], one["todo"]), []).append(one["what"])
    for (about, todo), whats in alike.items():
        show(BenchError("\n".join(whats), title=_ABOUT[about], hint=f"What to do: {todo.replace('`', '')}"))


def _answer_of_errand() -> dict[str, Any] | None:
    """What the boxes said, until something was mended since."""
    jobs = services().jobs
    return jobs.result(_NETWORK) if jobs.state(_NETWORK) == "done" else None


def _mended() -> str:
    jobs = services().jobs
    done = jobs.result(_MEND) if jobs.state(_MEND) == "done" else []
    return "Mended: " + "; ".join(f"{short(one['run_id'])}: {one['what']}" if one["run_id"] else one["what"] for one in done)


def _start(key: str, label: str, work: Any) -> None:
    jobs = services().jobs
    if st.button(label, key=f"health-{key}", disabled=jobs.state(key) == "running"):
        jobs.forget(key)
        if key == _MEND:
            jobs.forget(_NETWORK)
        jobs.start(key, work)
        st.rerun()


def _told(key: str, waiting: str, done: str) -> None:
    state = errand(key, waiting)
    if state == "done":
        st.text(done)
    elif state == "failed":
        problem = services().jobs.problem(key)
        if problem is not None:
            show(problem)


def backup_list(house: House) -> None:
    """Backups in the usual place, newest first."""
    st.subheader("Backups", anchor=False)
    rows = [
        {
            "made (UTC)": one["made"][:19].replace("T", " "),
            "kind": one["kind"],
            "rows": sum(table["rows"] for table in one["digests"].values()),
            "size": size(one["database"]["bytes"]),
            "proved": {True: "yes", False: "no", None: "not yet"}[one.get("proof", {}).get("equal")],
            "file": one["path"],
        }
        for one in house.upkeep.backups()
    ]
    if not rows:
        st.info("None yet. The running app makes one each night; `python -m core backup --to DIR` puts one on another disk.")
        return
    st.dataframe(defused(pd.DataFrame(rows)), hide_index=True, width="stretch", key="backups")
