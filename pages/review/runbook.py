"""What to run today, and beside it every draft length that lost, with its reason."""

from functools import partial

import streamlit as st

from core.services.runbook import runbook, runbook_markdown
from core.ui.components.download import download
from core.ui.components.links import page_link
from core.ui.components.not_shown import not_shown
from core.ui.components.runbook_page import runbook_page
from core.ui.guard import enter
from core.ui.problem import shown

house = enter("Runbook", "What to run, by decision in force; the losing draft lengths stand beside the winner on purpose.")
with shown():
    pages = runbook(house)
if not pages:
    st.info("No decision is in force yet. A decision is taken on a worksheet.")
    page_link("worksheets", "Worksheets")
    st.stop()
make = partial(runbook_markdown, house)
download(house, "Download as Markdown", make, what=("runbook", ""), name="runbook.md", mime="text/markdown", key="runbook-md")
for page in pages:
    runbook_page(page)
not_shown()
