"""What a finished run leaves beside its cells: the winning recipe as a file, tool suites on and off, the forced pass's cost lines."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.services.forecast import speedup_curve
from core.services.house import House
from core.services.recipes import compared_with_recipe
from core.services.suites import suite_table
from core.ui.components.cell_notes import recipe_button
from core.ui.components.figures import NOT_RECORDED, ms, plain, speedup

_VERDICTS = {
    "within": "within its noise",
    "better": "▲ better beyond noise",
    "worse": "▼ worse beyond noise",
    None: "too few scores to say",
}
_SUITE_HEAD = ((3, "suite"), (2, "off"), (2, "on"), (2, "difference, band"), (3, "says"))
_LINE_HEAD = ((1, "n"), (3, "D + V, none … all accepted, ms"), (2, "pays from a"), (3, "real a: speed-up"), (3, "foretold there"))


def run_extras(house: House, view: dict[str, Any]) -> None:
    """Below the cells; each part only where the run has it."""
    _recipe(house, view)
    _suites(suite_table(house, view["run"]))
    if view["run"]["request"].get("forced"):
        _forced(speedup_curve(house, view["run"]["run_id"]))


def _recipe(house: House, view: dict[str, Any]) -> None:
    is_off = (view["finished"] or {}).get("winner") == 0
    recipe_button(house, view["run"]["run_id"], None, f"Download the winning recipe{' (speculation off)' if is_off else ''}")
    found = compared_with_recipe(house, view["run"]["run_id"])
    if found is None:
        return
    lead = f"Started from recipe {found['recipe_id'][:8]}…"
    if found["same"]:
        arms = ", ".join(("off" if n == 0 else f"n={n}") + f" at c={c}" for n, c in found["same"])
        st.text(f"{lead}: that very recipe ran again ({arms}).")
    elif found["differs"]:
        st.text(f"{lead}, but what ran differs in: " + ", ".join(f"{key} {old} → {new}" for key, (old, new) in found["differs"].items()))
    else:
        st.text(f"{lead}, but no arm had that very recipe: engine build, model file or placement differ from the file's.")


def _grid(head: tuple[tuple[int, str], ...], rows: list[tuple[str, ...]], key: str) -> None:
    grid = st.grid(12, wrap=False, min_column_width=58, gap="xxsmall", key=key)
    for span, word in head:
        with grid.cell(column_span=span):
            st.caption(word)
    for row in rows:
        for (span, _), words in zip(head, row, strict=True):
            with grid.cell(column_span=span):
                st.text(words)


def _suites(table: list[dict[str, Any]]) -> None:
    if not table:
        return
    st.subheader("Tool suites", anchor=False)
    _grid(_SUITE_HEAD, [_suite(line) for line in table], "suites")
    with st.expander("Every suite run, with the end of what it printed"):
        for one in (run for line in table for run in line["runs"]):
            arm = "off" if one["n_max"] == 0 else f"n={one['n_max']}"
            score = "no score" if one["score"] is None else f"score {one['score']:g}"
            st.text(f"{one['suite']}, {arm}, run {one['run']}: {one['status']}, {score}. {one['reason']}")
            said = (one["output"] + one["errors"]).strip()[-1500:]
            if said:
                st.code(said, language=None)


def _suite(line: dict[str, Any]) -> tuple[str, ...]:
    apart = line["difference"]
    gap = NOT_RECORDED if apart is None else f"{'0' if apart == 0 else f'{apart:+g}'}, ±{line['band']:g}"
    return line["suite"], _scores(line["off"]), _scores(line["on"]), gap, _VERDICTS[line["verdict"]]


def _scores(side: dict[str, Any]) -> str:
    if side["scores"]:
        return ", ".join(f"{score:g}" for score in side["scores"])
    return f"✕ {side['reason']}" if side["state"] == "failed" else "· not run"


def _forced(curve: dict[str, Any]) -> None:
    st.subheader("Forced-acceptance pass", anchor=False)
    st.caption("Synthetic: acceptance was forced and the text is invalid. It tells the cost of a step, and no decision may rest on it.")
    if curve["state"] != "ok":
        st.text(curve["why"])
        return
    _grid(_LINE_HEAD, [_line(line) for line in curve["lines"]], "forced-lines")
    if curve["across"]:
        fixed, each = curve["across"]["fixed_ms"], curve["across"]["per_token_ms"]
        st.text(f"D + V(n) ≈ {ms(fixed)} + n × {ms(each)} ms; a plain step H is {ms(curve['h_ms'])} ms.")
    if curve["why"]:
        st.text(curve["why"])


def _line(line: dict[str, Any]) -> tuple[str, ...]:
    pays = f"{plain(line['break_even_a'])} tokens a step" if line["can_pay"] else "never: not even with every draft accepted"
    real = line["real"]
    seen = f"{plain(real['a'])}: {speedup(real['speedup'])}" if real else "· not run"
    told = speedup(real["speedup_foretold"]) if real else ""
    return str(line["n_max"]), f"{ms(line['step_ms'][0])} … {ms(line['step_ms'][-1])}", pays, seen, told
