"""Prefill: how fast prompts are read, by engine build, with and without speculation."""

from __future__ import annotations

import streamlit as st

from core.services.matrix import fitting
from core.services.matrix_heads import all_heads, known_of
from core.services.prefill import prefill_rows, reference_prefill, remarks_of
from core.ui.components.links import page_link
from core.ui.components.matrix_bar import one_page
from core.ui.components.matrix_filters import choose, wanted
from core.ui.components.prefill_view import draw_prefill
from core.ui.guard import enter
from core.ui.problem import shown

house = enter("Prefill", "How fast prompts are read: prefill tok/s by engine build, and what speculation does to it.")

with shown():
    everything = all_heads(house)
chosen = choose(known_of(house), ("model", "build", "box", "workload", "context", "c", "age"))
with shown():
    heads = fitting(house, everything, provenance="measured", **wanted(chosen))
    lines = prefill_rows(house, one_page(heads, "page"))
draw_prefill(lines, reference_prefill(house))
for sentence in remarks_of(house, "A"):
    st.caption(f"□ Transcribed (§A): {sentence}")
if not lines:
    st.info("No measured prefill rate fits. Every bench run measures it along the way.")
    page_link("propose", "Propose a change and measure it")
st.caption(
    "Median over the counted warm repetitions; the band behind a point runs from the lowest to the highest. Prompts of a bench are short."
)
