"""Coverage as a table of signs, and the claims with the controls they still want."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from core.domain.coverage import CONTROLS
from core.domain.matrix import COLUMNS
from core.domain.run import short
from core.ui.components.figures import BLANK_WORDS, STALE, blank, literal, share
from core.ui.components.grid import TABLE_PX, column_title, row_title
from core.ui.components.links import receipt_url, run_link
from core.ui.components.workload_names import workload_words

Row = dict[str, Any]
MEASURED = "●"
LEGEND = (
    f"{MEASURED} measured · ◆ imported · □ transcribed · {STALE} measured, stale · {blank('not_run')} not run ·"
    f" {blank('failed')} failed · {blank('excluded')} excluded · {blank('invalid')} invalid"
)


_FIGURES = {"measured": f"{MEASURED} measured", "imported": "◆ imported", "transcribed": "□ transcribed"}


def state_sign(status: str, provenance: str = "measured") -> str:
    """One sign with its word, so that the sign is never alone."""
    return _FIGURES[provenance] if status == "ok" else f"{blank(status)} {BLANK_WORDS.get(status, status)}"


def coverage_table(states: list[Row]) -> pd.DataFrame:
    """One line a model, spill, box and workload."""
    columns = [*COLUMNS, *sorted({name for one in states for name in one["single"]} - set(COLUMNS), key=int)]
    lines = [
        {
            "workload": literal(workload_words(one["workload"], "not recorded")),
            **{column_title(name): state_sign(one["single"].get(name, "not_run"), one["provenance"]) for name in columns},
            "several streams": ", ".join(f"c={c} {state_sign(state, one['provenance'])}" for c, state in one["several"].items())
            or state_sign("not_run"),
            "remarks": literal("; ".join([*one["stale"], *(["its baseline drifted"] if one["drifted"] else [])])),
            "box": literal(one["box"] or one["provenance"]),
        }
        for one in states
    ]
    names = [literal(f"{one['model'] or 'model not recorded'} · {one['spill']['label']}") for one in states]
    return pd.DataFrame(lines, index=pd.Index(names, name="model and spill"))


def draw_coverage(states: list[Row]) -> None:
    """The table, and in words how much of it is open."""
    cells = [state for one in states if one["provenance"] == "measured" for state in one["single"].values()]
    count = {name: cells.count(name) for name in ("ok", "stale", "failed", "not_run")}
    st.text(
        f"On this page, of our own: {count['ok']} measured, {count['stale']} stale, {count['failed']} failed, {count['not_run']} not run."
    )
    st.table(coverage_table(states), width=TABLE_PX)
    st.caption(LEGEND)


def draw_claims(claims: list[Row]) -> None:
    """Every acceptance quoted as 100 %, each with what would rule out another reason for it."""
    st.subheader("Claims and their controls", anchor=False)
    if not claims:
        st.text("No cell on this page accepts as good as every draft token.")
        return
    st.caption(
        "An acceptance of 100 % is an observation of one build, box and context. These controls would rule out other reasons for it:"
    )
    st.table(claims_table(claims), width=TABLE_PX)
    st.caption(literal(" · ".join(f"{name}: {words}" for name, words in CONTROLS.items())))


def claims_table(claims: list[Row]) -> pd.DataFrame:
    """One line a claim; the figure links to its receipt."""
    lines = []
    for claim in claims:
        cell = claim["cell"]
        words = literal(f"n_max {claim['n_max']}: {share(cell['accept_share'], cell['accept_denominator'])}")
        lines.append(
            {
                "claim": f"[{words}]({receipt_url(cell['cell_id'])})" if cell["cell_id"] else words,
                **{
                    name: f"{blank('not_run')} not run" if state == "not run" else f"{MEASURED} run"
                    for name, state in claim["controls"].items()
                },
                "from": claim["row"]["provenance"],
            }
        )
    return pd.DataFrame(lines, index=pd.Index([literal(row_title(claim["row"])) for claim in claims], name="row"))


def draw_failed_runs(runs: list[Row]) -> None:
    """Runs without one figure, as links."""
    if runs:
        st.subheader("Runs that left no figure", anchor=False)
        for run in runs[:20]:
            run_link(run["run_id"], f"✕ {short(run['run_id'])} “{run['title']}” on {run['box_id']}: {run['state']}. {run['note'] or ''}")
