"""The cell gate and what the box did while a cell was measured: conditions with their reasons, repetitions with heat and memory."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from core.services.house import House
from core.services.repetitions import repetitions_of
from core.ui.components.defused import defused
from core.ui.components.figures import NOT_APPLICABLE, NOT_RECORDED, ms, plain, rate, share
from core.ui.components.pairs import pairs

View = dict[str, Any]
_MARKS = {"pass": "✓ pass", "fail": "✕ fail", "n/a": "n/a", "not_recorded": f"{NOT_RECORDED} not recorded"}
_RIGHT = (
    "engine tok/s", "client tok/s", "TTFT ms", "last token ms", "gap p50 / p95 / p99 ms", "tokens per event", "D ms", "V ms",
    "reject cost ≤ ms", "GPU MiB before / during / after", "host load",
)  # fmt: skip
_COLUMNS = {name: st.column_config.TextColumn(name, alignment="right") for name in _RIGHT}


def conditions(gate: View | None) -> None:
    """Every condition of the cell gate, failed ones first."""
    st.markdown("**Cell gate**")
    if gate is None:
        st.text(f"{NOT_RECORDED} Nothing came of this cell that could be checked.")
        return
    st.text(verdict(gate))
    order = {"fail": 0, "not_recorded": 1, "pass": 2, "n/a": 3}
    ordered = sorted(gate["conditions"], key=lambda one: order[one["state"]])
    pairs([(one["label"], " · ".join(part for part in (_MARKS[one["state"]], one["reason"]) if part)) for one in ordered])


def verdict(gate: View) -> str:
    """One sentence: whether a decision may rest on the cell."""
    if gate["state"] == "fail":
        return f"✕ Not usable for keep: {gate['why']}"
    return "✓ Usable for a decision." if gate["usable"] else f"{NOT_RECORDED} Cannot support keep: {gate['why']}"


def repetitions(house: House, view: View) -> None:
    """One line a repetition: both clocks, gaps, cost of a step, acceptance by slot, and what the box did."""
    rows = repetitions_of(house, view["run"]["run_id"], view["n_max"], view["c"])
    if not rows:
        st.text(f"{NOT_RECORDED} No repetition came.")
        return
    st.dataframe(defused(pd.DataFrame([_line(row) for row in rows])), hide_index=True, width="stretch", column_config=_COLUMNS)
    st.caption(
        "Gaps: time between two streamed events as they reached the bench; an event can hold several tokens, and a speculative step sends"
        " several at once. Last token: from the request on, prompt and waiting included; it is no decode rate. Reject cost: an upper bound."
    )


def _name(row: View) -> str:
    """“n=2, 1”; “n=2, cold”; what failed says so."""
    again = f", attempt {row['attempt']}" if (row["attempt"] or 1) > 1 else ""
    failed = f" ✕ {row['status']}" if row["status"] not in ("ok", None) else ""
    return f"{row['stage']}, {'cold' if row['temperature'] == 'cold' else row['repetition']}{again}{failed}"


def _line(row: View) -> View:
    return {
        "repetition": _name(row),
        "engine tok/s": rate(row["engine_tok_s"]),
        "client tok/s": rate(row["client_tok_s"]),
        "TTFT ms": ms(row["ttft_ms"]),
        "last token ms": ms(row["last_token_ms"]),
        "gap p50 / p95 / p99 ms": " / ".join(ms(row["gap_ms"][name]) for name in ("p50", "p95", "p99")),
        "tokens per event": plain(row["tokens_per_event"]),
        "D ms": ms(row["d_ms"]),
        "V ms": ms(row["v_ms"]),
        "reject cost ≤ ms": ms(row["reject_cost_ms"]),
        "acceptance by slot": ", ".join(f"{one['slot']}: {share(one['share'])}" for one in row["slots"]) or NOT_RECORDED,
        "GPU MiB before / during / after": _memory(row["gpu_memory_mib"]),
        "throttled": _words(row["throttle"]),
        "others on the GPU": _words(row["others_on_gpu"]),
        "host load": plain(row["host_load_1m"]),
    }


def _memory(found: Any) -> str:
    if isinstance(found, dict):
        return " / ".join(f"{found[name]:.0f}" for name in ("before", "during", "after"))
    return NOT_APPLICABLE if found == "n/a" else NOT_RECORDED


def _words(found: Any) -> str:
    if isinstance(found, list):
        return ", ".join(str(one.get("name") if isinstance(one, dict) else one) for one in found) or "no"
    return NOT_APPLICABLE if found == "n/a" else NOT_RECORDED
