"""The matrix: rows model × spill, columns n_max, every figure a door to its receipt."""

from __future__ import annotations

import streamlit as st

from core.services.matrix import fitting, rows_of
from core.services.matrix_heads import all_heads, known_of
from core.ui.components.computed import computed
from core.ui.components.links import page_link
from core.ui.components.matrix_bar import link_and_files, one_page
from core.ui.components.matrix_filters import choose_sort, filter_bar, filters_said, link_to_this, wanted
from core.ui.components.matrix_views import draw_views
from core.ui.components.outcomes import tally
from core.ui.components.published_elsewhere import published_section, published_switch
from core.ui.components.remarks import remarks
from core.ui.guard import enter
from core.ui.problem import shown

house = enter("Matrix", "Where speculation pays: one row per model and spill, one column per n_max, tok/s with speed-up and acceptance.")

with shown():
    everything = all_heads(house)
with st.container(horizontal=True, vertical_alignment="bottom"):
    chosen, ignored = filter_bar(known_of(house))
    sort = choose_sort()
    is_wider = published_switch()
    with shown():
        heads = fitting(house, everything, sort=sort, **wanted(chosen))
    link_and_files(house, link_to_this(chosen, sort), lambda: rows_of(house, heads), is_empty=not heads)

filters_said(chosen, ignored)
if heads:
    with shown():
        rows = rows_of(house, one_page(heads, "page"))
    tally(rows)
    draw_views(house, rows)
    remarks(house.keep("remarks", None, house.store.published.remarks))
else:
    st.info("No row fits these filters. Nothing was measured that way yet.")
    page_link("propose", "Propose a change and measure it")

if is_wider:
    published_section(house)
if heads:
    computed("speedup", "shade", "noise", "published_a", "step")
