"""Diagnosis, failure modes, projection and the next-best cell, as lines a person can act on."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from core.domain.diagnosis import NOT_RECORDED, RULED_OUT, SEEN, Finding
from core.domain.next_cell import Advice
from core.domain.projection import Projected
from core.ui.components.defused import defused
from core.ui.components.figures import duration, literal, ms, plain, share, speedup
from core.ui.components.links import page_link, receipt_link

MARKS = {SEEN: "● seen", RULED_OUT: "○ ruled out", NOT_RECORDED: "—? not recorded"}


def diagnosis(findings: list[Finding], modes: list[Finding]) -> None:
    """The five rules in their order, and the failure modes that were seen."""
    st.markdown("**Diagnosis**")
    if not findings:
        st.text("This cell neither loses nor looks odd: nothing to diagnose.")
    for place, finding in enumerate(findings, 1):
        _line(f"{place}. {finding.title}: {MARKS[finding.state]}", finding)
    if modes:
        st.markdown("**Ways to be misled, seen here**")
    for finding in modes:
        _line(f"▲ {finding.title}", finding)


def _line(head: str, finding: Finding) -> None:
    with st.container(gap=None):
        st.text(head)
        st.caption(_escaped(f"{finding.evidence} {finding.advice if finding.state == SEEN else ''}".strip()))


def _escaped(text: str) -> str:
    return literal(text, 600)


def next_best(advice: list[Advice]) -> None:
    """What to measure next in this row."""
    st.markdown("**Next-best cell**")
    if not advice:
        st.text("Nothing in this row is open that a further cell could turn.")
        return
    for one in advice[:3]:
        with st.container(gap=None):
            st.text(f"{one.rank + 1}. {one.what} · {_minutes(one)}")
            st.caption(_escaped(f"{one.why} Could turn: {one.could_change}.{_rests(one)}"))
    page_link("propose", "Propose and measure it")


def next_cells_list(found: list[dict[str, Any]]) -> None:
    """The most telling open cells over many rows, as `next_cells` gives them."""
    st.markdown("**Measure next**")
    if not found:
        st.text("Nothing is open that a further cell could turn.")
    for one in found:
        advice: Advice = one["advice"]
        with st.container(gap=None):
            words = f"{one['model'] or 'model not recorded'} · {one['spill']}: {advice.what} · {_minutes(advice)}"
            if one["cell_id"]:
                receipt_link(one["cell_id"], words)
            else:
                st.text(words)
            st.caption(literal(f"{advice.why} Could turn: {advice.could_change}.{_rests(advice)}", 600))


def _minutes(advice: Advice) -> str:
    return f"about {duration(advice.minutes * 60)}" if advice.minutes is not None else "minutes not known: nothing was timed here"


def _rests(advice: Advice) -> str:
    return f" Rests on it: {'; '.join(advice.rests)}." if advice.rests else ""


def projection(projected: list[Projected], positions: list[float]) -> None:
    """Shorter drafts, predicted from the positions of this one."""
    if len(positions) < 2:
        return
    st.markdown("**Shorter drafts, predicted**")
    st.dataframe(defused(pd.DataFrame([_projected(one) for one in projected])), hide_index=True, width="stretch", key="receipt-projection")
    shown = ", ".join(share(part) for part in positions)
    st.caption(
        f"Predicted, not measured: a(k) = 1 + the shares of drafts that got at least that far ({shown}). A speed-up is predicted only"
        " where the cost of that very n was measured; it orders what to measure next and decides nothing."
    )


def _projected(one: Projected) -> dict[str, Any]:
    return {
        "n_max": str(one.n_max),
        "a, predicted": plain(one.a),
        "D + V": f"{ms(one.step_ms)} ms, {one.cost_from}" if one.step_ms is not None else "—? not measured",
        "speed-up, predicted": speedup(one.speedup) if one.speedup is not None else "—? no cost line",
        "speed-up, measured": speedup(one.measured) if one.measured is not None else "· not run",
    }
