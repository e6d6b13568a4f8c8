"""The rows on the page in several views: the matrix with its table, and curves over spill, acceptance and the cost of a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from core.charts.lines import Series, line_figure
from core.charts.spill import Point, spill_figure
from core.charts.steps import StepLine, steps_figure
from core.domain.matrix import SHOWN
from core.services.explain import points_of
from core.services.house import House
from core.ui.components.figures import LEGEND, cell_words
from core.ui.components.forced_curve import forced_curve, has_pass
from core.ui.components.grid import denominator, draw_footnotes, draw_matrix, draw_table, picture_of, row_title, table_of
from core.ui.components.receipt_curves import spoken as step_words
from core.ui.components.receipt_curves import step_line
from core.ui.components.theme import is_dark

Row = dict[str, Any]
PICTURE, TABLE = "matrix picture", "matrix table"
LINES_AT_ONCE = 8  # more cannot be told apart
_NOTHING = "Nothing to draw yet: a row needs a baseline and one n_max."
OBSERVATION = (
    "An observation on these rows, not a law of nature: other boxes, builds and models may differ. ● measured here · ◆ imported ·"
    " □ transcribed from what others published. Below the dotted line speculation loses."
)


def draw_views(house: House, rows: list[Row]) -> None:
    """The rows as the matrix itself, and as curves: only the open tab is drawn. Which one it is stands in the address."""
    draw: dict[str, Callable[[], None]] = {
        "Matrix": lambda: _draw_matrix(house, rows),
        "Speed-up against spill": lambda: _draw_spill(rows),
        "Acceptance against n_max": lambda: _draw_accept(rows),
        "Step cost against n_max": lambda: draw_costs(rows),
        "Speed-up against a": lambda: draw_forced(house, rows),
    }
    for tab, view in zip(st.tabs(list(draw), key="curves", bind="query-params"), draw.values(), strict=True):
        if tab.open:
            with tab:
                view()


def _draw_matrix(house: House, rows: list[Row]) -> None:
    """Picture and table; both are kept as long as their rows are."""
    dark = is_dark()
    draw_matrix(rows, house.keep(PICTURE, (rows, dark), lambda: picture_of(rows, dark=dark)), key="matrix-chart")
    draw_footnotes(rows, LEGEND)
    st.subheader("The same as a table", anchor=False)
    draw_table(house.keep(TABLE, rows, lambda: table_of(rows)))


def _draw_accept(rows: list[Row]) -> None:
    series = accept_by_n(rows)
    _draw(series, "accepted share", key="lines-accept", percent=True)
    found = {denominator(c["accept_denominator"]) for row in rows for _, c in steps(row) if c["accept_denominator"]}
    few = f" The first {LINES_AT_ONCE} rows with acceptance." if len(series) == LINES_AT_ONCE else ""
    st.caption(f"A share falls with n_max by arithmetic: never rank n_max by it.{few} Denominators here: {'; '.join(sorted(found))}.")


def draw_costs(rows: list[Row]) -> None:
    """Step cost against n_max of all rows shown, each with its slope."""
    lines = cost_lines(rows)
    if not lines:
        st.text("Nothing to draw yet: a row needs a baseline and one n_max with recorded acceptance.")
        return
    spoken = "; ".join(step_words(line) for line in lines[:LINES_AT_ONCE])
    st.plotly_chart(steps_figure(lines, dark=is_dark()), key="lines-cost", config={"displayModeBar": False}, alt=spoken)
    st.caption("What one speculative step costs, counted in plain steps, and what one draft token more adds: the slope.")


def draw_forced(house: House, rows: list[Row]) -> None:
    """The forced-acceptance pass of one of the rows shown, its real cells on it."""
    known = {row["run_id"]: row_title(row) for row in rows if row["run_id"] and row["c"] == 1 and has_pass(house, row["run_id"])}
    if not known:
        st.text("No row on this page had a forced-acceptance pass; it is an option when a run is started.")
        return
    run_id = st.selectbox("Row", list(known), format_func=lambda one: known[one], key="forced-row")
    forced_curve(house, run_id, key="lines-forced")


def _draw_spill(rows: list[Row]) -> None:
    by_share, by_layers = spill_points(rows, "host_share"), spill_points(rows, "layers")
    if not (by_share or by_layers):
        st.text(_NOTHING)
        return
    figure = spill_figure(by_share, by_layers, dark=is_dark())
    spoken = "Speed-up against the share of the weights, and against the layers, that lie on the host"
    st.plotly_chart(figure, key="lines-spill", config={"displayModeBar": False}, alt=spoken)
    st.caption(OBSERVATION)


def spill_points(rows: list[Row], key: str) -> list[Point]:
    """One point a cell with a speed-up, of rows that know their spill by `key`: "host_share" or "layers"; zero spill is 0 by both."""
    points = []
    for row in rows:
        spill = 0.0 if row["spill"]["state"] == "resident" else row["spill"][key]
        for n_max, cell in steps(row) if spill is not None else []:
            if cell["speedup"]:
                note = f"{row_title(row)}, n_max {n_max}: {cell_words(cell)}"
                points.append(Point(float(spill), cell["speedup"], n_max, row["provenance"], note))
    return points


def _draw(series: list[Series], y_title: str, *, key: str, even: float | None = None, percent: bool = False) -> None:
    if not series:
        st.text(_NOTHING)
        return
    figure = line_figure(series, x_title="n_max", y_title=y_title, dark=is_dark(), even=even, percent=percent)
    st.plotly_chart(figure, key=key, config={"displayModeBar": False}, alt=f"{y_title} against n_max")


def steps(row: Row) -> list[tuple[int, Row]]:
    """A row's speculative cells that hold a figure, by n_max."""
    return [(int(name), cell) for name, cell in row["cells"].items() if name != "off" and cell["status"] in SHOWN and cell["tok_s"]]


def accept_by_n(rows: list[Row]) -> list[Series]:
    """One line a row, for the first rows that have acceptance."""
    found = [(row, [(n, cell["accept_share"], cell_words(cell)) for n, cell in steps(row)]) for row in rows]
    return [_series(row, points) for row, points in found if any(y is not None for _, y, _ in points)][:LINES_AT_ONCE]


def cost_lines(rows: list[Row]) -> list[StepLine]:
    """One line per row, from the prices its cells carry: nothing is asked again."""
    found = []
    for row in rows:
        priced = {int(name): cell for name, cell in row["cells"].items() if name != "off" and cell["price"]}
        line = step_line(row_title(row), points_of(priced), next((cell["price"]["h_ms"] for cell in priced.values()), 1.0))
        found += [line] if line else []
    return found


def _series(row: Row, points: list[tuple[int, Any, str]]) -> Series:
    return Series(row_title(row), [x for x, _, _ in points], [y for _, y, _ in points], [note for _, _, note in points])
