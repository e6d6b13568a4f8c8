"""Every repetition behind a cell: warm ones and cold ones in tables of their own, failed and excluded ones in place; the downloads."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from core.domain.sound import count_faults
from core.services.house import House
from core.services.receipt_files import receipt_json, samples_csv
from core.ui.components.defused import defused
from core.ui.components.download import download
from core.ui.components.figures import ms, rate, rate_range, share, when

View = dict[str, Any]
_RIGHT = ("tok/s", "client tok/s", "TTFT ms", "prefill tok/s", "accepted / proposed", "D ms")
_COLUMNS = {name: st.column_config.TextColumn(name, alignment="right") for name in _RIGHT}


def samples_table(view: View) -> None:
    """Warm repetitions, then the cold ones apart: a cold one is never mixed into a figure."""
    cell = view["cell"]
    st.markdown("**Samples**")
    if not view["samples"]:
        alone = "the file gives no single ones" if view["kind"] == "imported" else "a published figure comes alone"
        st.text(f"No repetitions: {alone}.")
        return
    numbered = list(enumerate(view["samples"], 1))
    for title, temperature in (("Warm repetitions", "warm"), ("Cold: the first after a load, never counted", "cold")):
        rows = [sample_words(number, row) for number, row in numbered if row["temperature"] == temperature]
        if rows:
            st.caption(title)
            frame = pd.DataFrame(rows)
            st.dataframe(defused(frame), hide_index=True, width="stretch", column_config=_COLUMNS, key=f"samples-{temperature}")
    counted = f"Counted: {rate_range(cell['tok_s_min'], cell['tok_s_max'], cell['n'])} tok/s, lowest to highest. The cell shows the median."
    st.caption(counted if cell["status"] == "ok" else "No repetition counts.")


def sample_words(number: int, row: View) -> View:
    """One repetition as a line of words."""
    return {
        "#": number,
        "stage": row["stage"],
        "counts": standing(row),
        "tok/s": rate(row["tok_per_s"]),
        "client tok/s": rate(row["client_tok_per_s"]),
        "TTFT ms": ms(row["ttft_ms"]),
        "prefill tok/s": rate(row["prefill_tok_per_s"]),
        "accepted / proposed": _accepted(row),
        "accepted to position 1, 2, …": ", ".join(share(part) for part in row["per_position"]) if row["per_position"] else "n/a",
        "D ms": ms(row["d_ms"]) if row["n_max"] else "n/a",
        "at": when(row["noted_at"]),
    }


def standing(row: View) -> str:
    """Whether a repetition counts, and if not, why."""
    if row["excluded_reason"]:
        return f"▨ excluded by {row['excluded_by']}: {row['excluded_reason']}"
    if row["status"] != "ok":
        return f"✕ {row['status']}: {row['reason']}"
    return "yes" if row["counted"] else f"no: {row['temperature']} warm-up" if row["temperature"] == "cold" else "no"


def _accepted(row: View) -> str:
    if row["drafted"] is None or row["accepted"] is None:
        return "n/a" if not row["n_max"] else "—?"
    counts = {name: row[name] for name in ("drafted", "accepted", "steps", "decode_tokens")}
    wrong = "⚠ invalid: " if count_faults(**counts, n_max=row["n_max"]) else ""
    part = f" = {row['accepted'] / row['drafted']:.0%}" if row["drafted"] > 0 and not wrong else ""
    return f"{wrong}{row['accepted']} / {row['drafted']}{part}"


def downloads(house: House, view: View, explained: View) -> None:
    """Samples as CSV, the receipt as JSON."""
    cell_id = view["cell"]["cell_id"]
    name = cell_id.replace("~", "-")[:60]
    with st.container(horizontal=True):
        if view["samples"]:
            rows, file = partial(samples_csv, view), f"samples-{name}.csv"
            download(house, "Samples, CSV", rows, what=("samples", cell_id), name=file, mime="text/csv", key="samples-csv")
        whole, file = partial(receipt_json, view, explained), f"receipt-{name}.json"
        download(house, "Receipt, JSON", whole, what=("receipt", cell_id), name=file, mime="application/json", key="receipt-json")
