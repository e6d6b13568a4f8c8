"""Price explorer: two speeds and an acceptance, and what a step costs, needs and returns."""

from __future__ import annotations

import streamlit as st

from core.ui.components import price_form as form
from core.ui.components.computed import computed
from core.ui.components.receipt import inequality
from core.ui.guard import enter
from core.ui.problem import shown
from core.ui.state import CELL

house = enter("Price explorer", "What if: two speeds, a draft length and an acceptance, priced by the same arithmetic as every cell.")

with shown():
    form.seed(house, st.query_params.get(CELL, ""))
    sentence = st.container()
    with st.container(border=True):
        form.cell_choice(house)
        price = form.inputs()
    needs = form.needs_of(house, price) if price else []

if price is None:
    st.stop()

sentence.subheader(form.verdict_words(price), anchor=False)
sentence.text(price.note)
form.figures(price)
inequality(price.as_json())
form.curves(price, needs=needs)
computed("inequality", "a", "published_a", "h", "step", "break_even")
