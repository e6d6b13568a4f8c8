"""Suites: what the tool suites scored with and without speculation, beside their noise."""

from __future__ import annotations

import streamlit as st

from core.services.prefill import remarks_of
from core.services.suite_scores import suite_sets
from core.ui.components.suites_view import draw_suites
from core.ui.guard import enter
from core.ui.problem import shown

house = enter("Suites", "Whether quality held: tool-suite scores with and without speculation, beside the suite's own noise.")

with shown():
    sets = suite_sets(house)
draw_suites(sets)
if all(one["provenance"] == "transcribed" for one in sets):
    st.info("No score of your own yet: let a run measure a suite of its box, or type scores into a worksheet.")
for sentence in remarks_of(house, "C"):
    st.caption(f"□ Transcribed (§C): {sentence}")
