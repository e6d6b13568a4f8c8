"""One run: live while it goes on, its result afterwards."""

import streamlit as st

from core.ui.components.computed import computed
from core.ui.components.links import page_link
from core.ui.components.run_live import run_panel
from core.ui.guard import enter
from core.ui.problem import shown
from core.ui.state import RUN

house = enter("Run", "A sweep as it happens: every stage, what it gave, and one button that stops it. It goes on when this page is closed.")
run_id = st.query_params.get(RUN, "")
if not run_id:
    st.info("No run was named. Choose one from the list.")
    page_link("runs", "Runs")
    st.stop()
with shown():
    run_panel(house, run_id)
computed("speedup", "noise")
