"""Receipt of one cell: what it cost, why, and everything the figure rests on."""

from __future__ import annotations

import streamlit as st

from core.services.receipts import receipt
from core.ui.components import receipt as part
from core.ui.components.computed import computed
from core.ui.components.import_preview import raw_file
from core.ui.components.links import page_link
from core.ui.components.own_log import own_logs
from core.ui.guard import enter
from core.ui.problem import shown
from core.ui.state import CELL

house = enter("Receipt", "Why this cell won or lost, and every sample, recipe, command and log behind the figure.")
page_link("matrix", "← matrix")

cell_id = st.query_params.get(CELL, "")
if not cell_id:
    st.info("No cell is chosen. Every figure of the matrix opens its receipt.")
    st.stop()

with shown():
    view = receipt(house, cell_id, with_logs=True)

part.headline(view)
left, right = st.columns(2)
with left, st.container(border=True):
    part.price_card(view)
with right, st.container(border=True):
    part.split_card(view)
with right, st.container(border=True):
    part.origin_card(view)
with st.container(border=True):
    part.samples_table(view)

if view["kind"] == "measured":
    with st.container(border=True):
        st.markdown("**Read from its own log**")
        own_logs(view["log_readings"])
    command, log, resting = st.tabs(["Command", "Raw log", "Decisions resting on this cell"])
    with command:
        part.commands(view)
    with log:
        part.raw_logs(house, view)
    with resting:
        part.decisions(view)

if view["kind"] == "imported":
    raw_file(house, view["imported"]["sha256"])

with st.container(border=True):
    st.markdown("**What this does not show**")
    part.not_shown(view)
computed("inequality", "a", *(["published_a"] if view["kind"] == "published" else []), "h", "step", "break_even", "split", "noise")
part.onward(view)
