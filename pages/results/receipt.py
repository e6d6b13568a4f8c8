"""Receipt of one cell: what it cost, why, and everything the figure rests on."""

from __future__ import annotations

import streamlit as st

from core.services.explain import explain
from core.services.receipts import receipt
from core.ui.components import receipt as part
from core.ui.components.cell_notes import cell_notes
from core.ui.components.diagnosis_card import diagnosis, next_best, projection
from core.ui.components.links import page_link
from core.ui.components.price_ledger import price_card, split_card, tag_card
from core.ui.components.receipt_curves import curves
from core.ui.components.receipt_samples import downloads, samples_table
from core.ui.components.receipt_tabs import behind
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
    explained = explain(house, view)

part.headline(view, explained["ledger"])
part.row_cells(view)
left, right = st.columns(2)
with left, st.container(border=True):
    price_card(view, explained["ledger"])
with right, st.container(border=True):
    split_card(explained["ledger"])
with right, st.container(border=True):
    part.origin_card(view)
with left, st.container(border=True):
    tag_card(explained["tags"])
with left, st.container(border=True):
    next_best(explained["advice"])
with right, st.container(border=True):
    diagnosis(explained["findings"], explained["failure_modes"])
with st.container(border=True):
    samples_table(view)
    downloads(house, view, explained)
with st.container(border=True):
    curves(house, view)
    projection(explained["projection"], explained["positions"])
cell_notes(house, view)
behind(house, view)
with st.container(border=True):
    st.markdown("**What this does not show**")
    part.not_shown(view)
part.formulas(view)
part.onward(view)
