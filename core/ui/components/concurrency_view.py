"""tok/s against the number of streams: in all and per stream, baseline beside candidate."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.charts.lines import Series, line_figure
from core.domain.concurrency import curve, flips
from core.ui.components.figures import literal, rate
from core.ui.components.theme import is_dark
from core.ui.components.workload_names import workload_words

Group = dict[str, Any]
CHOSEN = "recipe"


def group_title(group: Group) -> str:
    """What stays the same along c."""
    key = group["key"]
    names = [key["model"] or "model not recorded", key["spill"], key["box"], key["build"], workload_words(key["workload"])]
    context = f"context {key['context']}" if key["context"] else None
    return " · ".join(str(part) for part in (*names, context) if part)


def choose_group(groups: list[Group]) -> Group:
    """The one that is drawn; in the address bar by its words."""
    titles = {group_title(group): group for group in reversed(groups)}
    asked = None if CHOSEN in st.session_state else st.query_params.get(CHOSEN)
    if asked is not None and asked not in titles:
        st.caption(literal(f"The address asks for “{asked}”, which is not there: ignored."))
    title = st.selectbox("recipe", [group_title(group) for group in groups], key=CHOSEN, bind="query-params")
    return titles[title]


def series_of(group: Group, per_stream: bool) -> list[Series]:
    """Baseline and candidate, where they hold figures."""
    lines = []
    for name in ("off", group["n_max"]):
        points = curve(group["by_c"], name) if name else []
        label = "baseline (off)" if name == "off" else f"n_max {name}"
        notes = [f"{label}, c={c}: {rate(whole)} tok/s in all, {rate(each)} per stream" for c, whole, each in points]
        if points:
            lines.append(Series(label, [c for c, _, _ in points], [each if per_stream else whole for _, whole, each in points], notes))
    return lines


def draw_group(group: Group) -> None:
    """Both charts, the figures as a table, and what turns."""
    for place, per_stream, title in zip(st.columns(2), (False, True), ("tok/s in all", "tok/s per stream"), strict=True):
        with place:
            figure = line_figure(series_of(group, per_stream), x_title="c (streams)", y_title=title, dark=is_dark(), from_zero=True)
            st.plotly_chart(figure, key=f"concurrency-{per_stream}", config={"displayModeBar": False}, alt=f"{title} against c")
    for sentence in flips(group["by_c"], group["n_max"]) if group["n_max"] else []:
        st.warning(sentence)
    st.table(table_of(group), width="content", hide_index=True)
    if len(group["by_c"]) == 1:
        st.caption("Measured at one concurrency only: a curve needs a second one.")
    st.caption("In all: decode tokens of all streams over the time from the first to the last token. Per stream: that over c.")


def table_of(group: Group) -> list[dict[str, str]]:
    """One line a concurrency."""
    points = {name: {c: (whole, each) for c, whole, each in curve(group["by_c"], name)} for name in ("off", group["n_max"] or "off")}
    lines = []
    for c in group["by_c"]:
        line = {"c": str(c)}
        for name, found in points.items():
            whole, each = found.get(c, (None, None))
            label = "off" if name == "off" else f"n_max {name}"
            line |= {f"{label}, in all": rate(whole) if whole else "·", f"{label}, per stream": rate(each) if each else "·"}
        lines.append(line)
    return lines
