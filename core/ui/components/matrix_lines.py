"""The three small charts below the matrix, as series of the rows shown."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.charts.lines import Series, line_figure
from core.charts.steps import StepLine, steps_figure
from core.services.explain import points_of
from core.services.house import House
from core.ui.components.figures import cell_words
from core.ui.components.grid import denominator, row_title
from core.ui.components.receipt_curves import spoken as step_words
from core.ui.components.receipt_curves import step_line
from core.ui.components.theme import is_dark

Row = dict[str, Any]
LINES_AT_ONCE = 8  # more cannot be told apart


def draw_lines(house: House, rows: list[Row]) -> None:
    """Speed-up against spill · acceptance against n · step cost against n, for the first rows shown."""
    few = rows[:LINES_AT_ONCE]
    spill, accept, cost = st.tabs(["Speed-up against spill", "Acceptance against n_max", "Step cost against n_max"])
    with spill:
        _draw(speedup_by_spill(rows), "layers on the host", "speed-up ×", key="lines-spill", even=1.0)
        st.caption("Only rows whose spill is known in layers. Below the dotted line speculation loses.")
    with accept:
        _draw(accept_by_n(few), "n_max", "accepted share", key="lines-accept", percent=True)
        denominators = {denominator(c["accept_denominator"]) for row in few for c in row["cells"].values() if c["accept_denominator"]}
        st.caption(
            "A share falls with n_max by arithmetic: never rank n_max by it. Denominators here: " + "; ".join(sorted(denominators)) + "."
        )
    with cost:
        draw_costs(rows)


def draw_costs(rows: list[Row]) -> None:
    """Step cost against n_max of all rows shown, each with its slope."""
    lines = cost_lines(rows)
    if not lines:
        st.text("Nothing to draw yet: a row needs a baseline and one n_max with recorded acceptance.")
        return
    spoken = "; ".join(step_words(line) for line in lines[:LINES_AT_ONCE])
    st.plotly_chart(steps_figure(lines, dark=is_dark()), key="lines-cost", config={"displayModeBar": False}, alt=spoken)
    st.caption("What one speculative step costs, counted in plain steps, and what one draft token more adds: the slope.")


def _draw(series: list[Series], x_title: str, y_title: str, *, key: str, even: float | None = None, percent: bool = False) -> None:
    if not series:
        st.text("Nothing to draw yet: a row needs a baseline and one n_max.")
        return
    figure = line_figure(series, x_title=x_title, y_title=y_title, dark=is_dark(), even=even, percent=percent)
    st.plotly_chart(figure, key=key, config={"displayModeBar": False}, alt=f"{y_title} against {x_title}")


def _steps(row: Row) -> list[tuple[int, Row]]:
    return [(int(name), cell) for name, cell in row["cells"].items() if name != "off" and cell["status"] == "ok" and cell["tok_s"]]


def speedup_by_spill(rows: list[Row]) -> list[Series]:
    """One line per model and n_max over its spills; measured, imported and transcribed points never share a line."""
    found: dict[str, list[tuple[float, float, str]]] = {}
    for row in rows:
        for n, cell in _steps(row):
            if row["spill"]["layers"] is not None and cell["speedup"]:
                note = f"{row_title(row)}, n_max {n}: {cell_words(cell)}"
                origin = "" if row["provenance"] == "measured" else f", {row['provenance']}"
                found.setdefault(f"{row['model'] or 'model not recorded'}, n_max {n}{origin}", []).append(
                    (row["spill"]["layers"], cell["speedup"], note)
                )
    lines = list(found.items())[:LINES_AT_ONCE]
    return [Series(name, *map(list, zip(*sorted(points), strict=True))) for name, points in lines]


def accept_by_n(rows: list[Row]) -> list[Series]:
    """One line per row."""
    return [
        _series(row, [(n, cell["accept_share"], cell_words(cell)) for n, cell in _steps(row)]) for row in rows if _has(row, "accept_share")
    ]


def cost_lines(rows: list[Row]) -> list[StepLine]:
    """One line per row, from the prices its cells carry: nothing is asked again."""
    found = []
    for row in rows:
        priced = {int(name): cell for name, cell in row["cells"].items() if name != "off" and cell["price"]}
        line = step_line(row_title(row), points_of(priced), next((cell["price"]["h_ms"] for cell in priced.values()), 1.0))
        found += [line] if line else []
    return found


def _has(row: Row, key: str) -> bool:
    return any(cell[key] is not None for _, cell in _steps(row))


def _series(row: Row, points: list[tuple[int, Any, str]]) -> Series:
    return Series(row_title(row), [x for x, _, _ in points], [y for _, y, _ in points], [note for _, _, note in points])
