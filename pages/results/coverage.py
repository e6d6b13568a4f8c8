"""Coverage: what is not measured, failed or old, and which controls a claim still wants."""

from __future__ import annotations

import streamlit as st

from core.services.coverage import coverage_of, failed_runs, places
from core.services.matrix import fitting, rows_of
from core.services.matrix_heads import all_heads, known_of
from core.services.next_cells import ROWS_ASKED, next_cells
from core.ui.components.coverage_view import draw_claims, draw_coverage, draw_failed_runs
from core.ui.components.diagnosis_card import next_cells_list
from core.ui.components.links import page_link
from core.ui.components.matrix_bar import one_page
from core.ui.components.matrix_filters import choose, wanted
from core.ui.guard import enter
from core.ui.problem import shown

house = enter("Coverage", "What nobody has measured yet, what failed and what has gone stale; and the controls a claim still wants.")

with shown():
    everything = all_heads(house)
chosen = choose(known_of(house), ("model", "build", "box", "workload", "provenance"))
with shown():
    heads = fitting(house, everything, **wanted(chosen))
    found = [place for place in places(house, heads) if chosen["workload"] in ("all", place["workload"])]
if found:
    with shown():
        states, claims = coverage_of(house, one_page(found, "page"))
    draw_coverage(states)
    draw_claims(claims)
else:
    st.info("No row fits these filters.")
draw_failed_runs(failed_runs(house, everything))
with st.container(border=True), shown():
    next_cells_list(next_cells(house, rows_of(house, heads[:ROWS_ASKED])))
page_link("propose", "Propose a change and measure it")
