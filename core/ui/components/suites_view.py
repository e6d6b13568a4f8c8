"""Scores as dots, the noise band around the side without speculation, and the same as a table."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import pandas as pd
import streamlit as st

from core.charts.dots import Dots, dots_figure
from core.domain.spreadsheet import neutral
from core.ui.components.figures import NOT_APPLICABLE, literal
from core.ui.components.links import run_link, worksheet_link
from core.ui.components.theme import is_dark

Set = dict[str, Any]


def label_of(one: Set) -> str:
    """Suite, model and where it ran."""
    mark = {"transcribed": " (transcribed)", "typed": " (typed in)"}.get(one["provenance"], "")
    return f"{one['suite']} · {one['model'] or 'model not recorded'} · {one['where']}{mark}"[:100]


def suite_dots(sets: list[Set]) -> list[Dots]:
    """One line a suite and place; the band lies around the mean with speculation off."""
    dots = []
    for one in sets:
        if one["scores"]:
            middle, is_off = fmean(one["scores"]), one["side"] == "off"
            low, high = (middle - one["band"], middle + one["band"]) if is_off else (None, None)
            words = ", ".join(f"{score:g}" for score in one["scores"])
            form = "measured" if one["provenance"] == "typed" else one["provenance"]
            dots.append(Dots(label_of(one), one["side"], one["scores"], form, f"{label_of(one)}, {one['side']}: {words}", low, high))
    return dots


def draw_suites(sets: list[Set]) -> None:
    """Chart, table, doors to where the scores come from."""
    figure = dots_figure(suite_dots(sets), x_title="score", dark=is_dark())
    st.plotly_chart(figure, key="suites-chart", config={"displayModeBar": False}, alt="Suite scores; the table below holds the same.")
    st.caption("The wide band is the suite's own noise around the mean with speculation off: a score inside it shows no difference.")
    st.table(suites_table(sets), width=4000, hide_index=True)
    with st.container(horizontal=True):
        for run_id in dict.fromkeys(one["run_id"] for one in sets if one["run_id"]):
            run_link(run_id, f"run {run_id[:8]} ↗")
        for worksheet_id in dict.fromkeys(one["worksheet_id"] for one in sets if one["worksheet_id"]):
            worksheet_link(worksheet_id, f"worksheet {worksheet_id} ↗")


def suites_table(sets: list[Set]) -> pd.DataFrame:
    """One line a side, as texts that nothing renders."""
    return pd.DataFrame(
        [
            {
                "suite": literal(neutral(one["suite"])),
                "model": literal(neutral(one["model"] or "not recorded")),
                "where": literal(one["where"]),
                "side": one["side"],
                "scores": ", ".join(f"{score:g}" for score in one["scores"]) or "none",
                "band": f"±{one['band']:g}",
                "against off": literal(one["verdict"] or NOT_APPLICABLE),
                "no score": literal("; ".join(one["missing"])),
                "from": literal(f"{one['provenance']}: {one['source']}"),
            }
            for one in sets
        ]
    )
