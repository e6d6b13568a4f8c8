"""The matrix: rows model × spill, columns n_max, every figure a door to its receipt."""

from __future__ import annotations

import streamlit as st

from core.services.matrix import matrix_rows
from core.ui.components.computed import computed
from core.ui.components.figures import LEGEND
from core.ui.components.grid import ROWS_AT_ONCE, csv_of, draw_footnotes, draw_links, draw_matrix, table_of
from core.ui.components.links import page_link
from core.ui.components.matrix_filters import choose, link_to_this, matching
from core.ui.components.matrix_lines import draw_lines
from core.ui.components.published_elsewhere import published_section, published_switch
from core.ui.components.remarks import remarks
from core.ui.guard import enter
from core.ui.problem import shown

house = enter("Matrix", "Where speculation pays: one row per model and spill, one column per n_max, tok/s with speed-up and acceptance.")

with shown():
    everything = matrix_rows(house)
chosen = choose(everything)
with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
    is_wider = published_switch()
    rows = matching(everything, chosen)
    with st.container(horizontal=True, horizontal_alignment="right"):
        with st.popover("Copy link"):
            st.code(link_to_this(chosen), language=None, wrap_lines=True)
        st.download_button("Download CSV", csv_of(rows), file_name="matrix.csv", mime="text/csv", on_click="ignore", disabled=not rows)

if rows:
    pages = -(-len(rows) // ROWS_AT_ONCE)
    start = (st.pagination(pages, key="matrix-page") - 1) * ROWS_AT_ONCE if pages > 1 else 0
    visible = rows[start : start + ROWS_AT_ONCE]
    draw_matrix(visible, key="matrix-chart")
    draw_footnotes(visible, LEGEND)
    st.subheader("Every cell as a link", anchor=False)
    draw_links(visible)
    with st.expander("As a table"):
        pinned = {"row": st.column_config.TextColumn("row", pinned=True)}
        st.dataframe(table_of(rows), hide_index=True, width="stretch", column_config=pinned)
    st.subheader("Curves", anchor=False)
    draw_lines(house, visible)
    remarks(house.store.published.remarks())
else:
    st.info("No row fits these filters. Nothing was measured that way yet.")
    page_link("propose", "Propose a change and measure it")

if is_wider:
    published_section(house)
if rows:
    computed("speedup", "shade", "noise", "published_a", "step")
