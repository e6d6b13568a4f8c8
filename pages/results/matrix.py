"""The matrix: rows model × spill, columns n_max, every figure a door to its receipt."""

from __future__ import annotations

import streamlit as st

from core.services.matrix import fitting, rows_of
from core.services.matrix_heads import all_heads, known_of
from core.ui.components.computed import computed
from core.ui.components.figures import LEGEND
from core.ui.components.grid import draw_footnotes, draw_matrix, draw_table
from core.ui.components.links import page_link
from core.ui.components.matrix_bar import link_and_files, one_page
from core.ui.components.matrix_filters import choose, choose_sort, link_to_this, wanted
from core.ui.components.matrix_lines import draw_lines
from core.ui.components.published_elsewhere import published_section, published_switch
from core.ui.components.remarks import remarks
from core.ui.guard import enter
from core.ui.problem import shown

house = enter("Matrix", "Where speculation pays: one row per model and spill, one column per n_max, tok/s with speed-up and acceptance.")

with shown():
    everything = all_heads(house)
chosen = choose(known_of(house))
with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
    sort = choose_sort()
    is_wider = published_switch()
    with shown():
        heads = fitting(house, everything, sort=sort, **wanted(chosen))
    link_and_files(house, link_to_this(chosen, sort), lambda: rows_of(house, heads), is_empty=not heads)

if heads:
    with shown():
        rows = rows_of(house, one_page(heads, "page"))
    draw_matrix(rows, key="matrix-chart")
    draw_footnotes(rows, LEGEND)
    st.subheader("The same as a table", anchor=False)
    draw_table(rows)
    st.subheader("Curves", anchor=False)
    draw_lines(house, rows)
    remarks(house.store.published.remarks())
else:
    st.info("No row fits these filters. Nothing was measured that way yet.")
    page_link("propose", "Propose a change and measure it")

if is_wider:
    published_section(house)
if heads:
    computed("speedup", "shade", "noise", "published_a", "step")
