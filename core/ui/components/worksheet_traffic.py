"""Traffic shares: several workloads behind one decision, what a token costs in the mix, and where the answer flips."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.services.comparison import type_traffic
from core.services.house import House
from core.ui.components.autosave import adopt, follow, seen_before
from core.ui.components.field_problems import told
from core.ui.components.figures import literal, ms, rate, sign, speedup
from core.ui.components.links import run_link
from core.ui.components.person import person

LABELS = {"by": "Your name (in the menu)", "shares": "Traffic shares"}


def traffic(house: House, view: dict[str, Any]) -> None:
    """The mix and its flips stand open where shares are known; the shares themselves are typed in below."""
    found = view["traffic"]
    with st.expander("Traffic shares: weigh several workloads", key="traffic", expanded=bool(found)):
        if found:
            _mix(house, found, view["worksheet"]["body"]["production_c"])
        if not view["decisions"]:
            _shares(house, view)


def _mix(house: House, found: dict[str, Any], c: int) -> None:
    for row in found["rows"]:
        with st.container(horizontal=True):
            speeds = f"off {rate(row['off_tok_s'])}, on {rate(row['on_tok_s'])} tok/s at c={c}"
            st.text(
                f"{row['share']:.0%} {house.workload_title(row['workload'])}: {speeds}, {speedup(row['speedup'])} {sign(row['verdict'])}",
                width="content",
            )
            run_link(row["run_id"], "run ↗")
    for name in found["missing"]:
        st.text(f"· {house.workload_title(name)} is not measured with this recipe at c={c}: propose it on the same box, model and build.")
    mix = found["weighted"]
    if mix is None:
        return
    st.text(f"The mix: {ms(mix.off_ms)} ms a token off, {ms(mix.on_ms)} ms on: {speedup(mix.speedup)} {sign(mix.verdict)}")
    for flip in mix.flips:
        way = "pays only above" if flip.pays_above else "stops paying above"
        st.text(f"↔ It {way} {flip.at:.0%} of {house.workload_title(flip.workload)} (now {flip.share:.0%}), the others in proportion.")
    if not mix.flips:
        st.text("No share turns the answer: every workload says the same.")


def _shares(house: House, view: dict[str, Any]) -> None:
    worksheet_id, entry = view["worksheet"]["worksheet_id"], view["evidence"].typed.get(("traffic", "candidate"))
    number, known = (entry["entry"], entry["value"]) if entry else (0, {})
    over, is_done, percent = seen_before(f"traffic-seen-{worksheet_id}", number), False, {}
    keys = {name: f"share-{worksheet_id}-{name}" for name in house.workloads}
    with st.form("traffic-form", border=False):
        st.caption("Percent of the tokens you serve, per workload; they sum to 100.")
        columns = st.columns(3)
        for place, name in enumerate(house.workloads):
            follow(keys[name], number, round(100 * known.get(name, 0.0), 1))
            with columns[place % 3]:
                percent[name] = st.number_input(literal(house.workload_title(name)), step=5.0, key=keys[name])
        if st.form_submit_button("Weigh", key="weigh"):
            with told(LABELS):
                type_traffic(house, worksheet_id, percent, by=person(), over=over)
                is_done = True
    if is_done:
        adopt(*keys.values())
        st.rerun()
