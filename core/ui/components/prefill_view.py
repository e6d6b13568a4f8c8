"""Prefill as points by build and as a table."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from core.charts.dots import Dots, dots_figure
from core.ui.components.defused import defused
from core.ui.components.figures import NOT_RECORDED, ms, rate, rate_range, speedup
from core.ui.components.grid import row_title
from core.ui.components.theme import is_dark
from core.ui.components.workload_names import workload_words

Row = dict[str, Any]


def label_of(line: Row) -> str:
    """Build first: it is what the rates are compared by."""
    return f"{line['build'] or 'build not recorded'} · {row_title(line)} · {workload_words(line['workload'])}"[:120]


def prefill_dots(lines: list[Row], reference: list[Row]) -> list[Dots]:
    """One point an arm with its range; the reference below."""
    own = [
        Dots(
            label_of(line), "off" if line["n_max"] == "off" else f"n_max {line['n_max']}", [line["tok_s"]], "measured",
            f"{label_of(line)}: {rate(line['tok_s'])} tok/s", line["tok_s_min"], line["tok_s_max"],
        )
        for line in lines
        if line["tok_s"] is not None
    ]  # fmt: skip
    published = [
        Dots(
            one["label"], "transcribed, not measured here", sorted({one["low"], one["high"]}), "transcribed",
            f"{one['label']}: {one['words']} tok/s", one["low"], one["high"],
        )
        for one in reference
    ]  # fmt: skip
    return own + published


def draw_prefill(lines: list[Row], reference: list[Row]) -> None:
    """Chart, then the figures."""
    figure = dots_figure(prefill_dots(lines, reference), x_title="prefill tok/s", dark=is_dark())
    st.plotly_chart(
        figure, key="prefill-chart", config={"displayModeBar": False}, alt="Prefill tok/s by build; the table holds the figures."
    )
    if lines:
        st.dataframe(defused(prefill_table(lines)), hide_index=True, width="stretch", key="prefill-table")


def prefill_table(lines: list[Row]) -> pd.DataFrame:
    """One line an arm, as texts."""
    return pd.DataFrame(
        [
            {
                "row": row_title(line),
                "build": line["build"] or NOT_RECORDED,
                "box": line["box"] or NOT_RECORDED,
                "workload": workload_words(line["workload"], NOT_RECORDED),
                "n_max": line["n_max"],
                "prefill tok/s": rate(line["tok_s"]),
                "lowest–highest (n)": rate_range(line["tok_s_min"], line["tok_s_max"], line["n"]),
                "against off": "n/a" if line["n_max"] == "off" else speedup(line["against_off"]),
                "first token, ms": ms(line["ttft_ms"]),
            }
            for line in lines
        ]
    )
