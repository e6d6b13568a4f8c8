"""What to run today, and beside it every draft length that lost, with its reason."""

import streamlit as st

from core.services.runbook import runbook, runbook_markdown
from core.ui.components.links import page_link
from core.ui.components.not_shown import not_shown
from core.ui.components.runbook_page import runbook_page
from core.ui.guard import enter
from core.ui.problem import shown

house = enter("Runbook", "What to run, by decision in force; the losing draft lengths stand beside the winner on purpose.")
with shown():
    pages = runbook(house)
    text = runbook_markdown(house)
if not pages:
    st.info("No decision is in force yet. A decision is taken on a worksheet.")
    page_link("worksheets", "Worksheets")
    st.stop()
st.download_button("Download as Markdown", text, file_name="runbook.md", mime="text/markdown", on_click="ignore", key="runbook-md")
for page in pages:
    runbook_page(page)
not_shown()
