"""Concurrency: tok/s in all and per stream against the number of streams, baseline beside candidate."""

from __future__ import annotations

import streamlit as st

from core.domain.concurrency import groups_by_c
from core.services.matrix import fitting, rows_of
from core.services.matrix_heads import all_heads, known_values
from core.services.prefill import remarks_of
from core.ui.components.concurrency_view import choose_group, draw_group
from core.ui.components.links import page_link
from core.ui.components.matrix_filters import choose, wanted
from core.ui.guard import enter
from core.ui.problem import shown

house = enter("Concurrency", "What is left of a gain when several streams share the box: tok/s in all and per stream.")
MOST = 500  # rows looked at; the filters bring the others in reach

with shown():
    everything = [head for head in all_heads(house) if head["provenance"] != "transcribed"]
chosen = choose(known_values(everything), ("model", "build", "box", "workload", "context"))
with shown():
    heads = fitting(house, everything, **wanted(chosen))
    groups = groups_by_c(rows_of(house, heads[:MOST]))
if len(heads) > MOST:
    st.caption(f"The first {MOST} of {len(heads)} rows; filter for the others.")
if groups:
    draw_group(choose_group(groups))
else:
    st.info("Nothing is measured at a known concurrency yet. A proposal names the production concurrency; its run measures both.")
    page_link("propose", "Propose a change and measure it")
for sentence in remarks_of(house, "B"):
    st.caption(f"□ Note on the reference (§B, transcribed, unresolved): {sentence}")
