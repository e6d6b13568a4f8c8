"""Keep or reject: who answers, and why. Keep is closed while a gate is open; the service checks again."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.decision import KEEP, REJECT, is_against
from core.services.decisions import decide
from core.services.house import House
from core.ui.components.field_problems import told
from core.ui.components.figures import when
from core.ui.components.gate_list import open_gates
from core.ui.components.links import page_link
from core.ui.components.name_field import follow_person

LABELS = {"owner": "Owner", "reason": "Reason", "against_why": "Why against the suggestion", "verdict": "Verdict"}
_OWNER = "decision-owner"


def owner_typed() -> str:
    """The owner as it stands in the form: at first the person's own name."""
    return follow_person(_OWNER)


def decision_form(house: House, view: dict[str, Any]) -> None:
    """The form, or the decision once it is taken."""
    st.subheader("Decision", anchor=False)
    if view["decisions"]:
        _final(view["decisions"][-1])
        return
    verdict = st.radio("Verdict", (REJECT, KEEP), index=None, horizontal=True, key="decision-verdict")
    owner = st.text_input(LABELS["owner"], key=_OWNER)
    reason = st.text_area(LABELS["reason"], key="decision-reason", height=80)
    against = ""
    if verdict and is_against(verdict, view["suggestion"]):
        st.text(f"The computed suggestion is “{view['suggestion']['action']}”.")
        against = st.text_area(LABELS["against_why"], key="decision-against", height=80)
    still = open_gates(view["gates"])
    is_closed = verdict == KEEP and bool(still)
    if is_closed:
        st.text("Keep is not possible yet. Open gates: " + ", ".join(still))
    is_done = False
    if st.button("Record decision", type="primary", key="record-decision", disabled=verdict is None or is_closed):
        values = {
            "worksheet_id": view["worksheet"]["worksheet_id"],
            "verdict": verdict,
            "owner": owner,
            "reason": reason,
            "against_why": against,
        }
        with told(LABELS):
            decide(house, values)
            is_done = True
    if is_done:
        st.toast("The decision stands in the ledger.")
        st.rerun()


def verdict_badge(verdict: str) -> None:
    """KEEP or REJECT on its colour."""
    st.badge(verdict.upper(), color="blue" if verdict == KEEP else "orange")


def _final(entry: dict[str, Any]) -> None:
    with st.container(border=True, key="decision-final"):
        verdict_badge(entry["verdict"])
        st.text(f"{entry['owner']} · {when(entry['noted_at'])} · the suggestion was: {entry['action']}")
        st.text(entry["reason"])
        st.caption("This is final: it can be superseded by a later decision, never edited.")
        page_link("ledger", f"Entry {entry['number']} in the ledger")
