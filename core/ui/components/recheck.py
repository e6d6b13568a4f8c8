"""One click from a decision that went stale to a worksheet that asks its question again."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.services.house import House
from core.services.ledger import recheck
from core.services.worksheets import new_worksheet_id
from core.ui.components.field_problems import told
from core.ui.components.links import go
from core.ui.components.person import person
from core.ui.state import WORKSHEET


def recheck_button(house: House, entry: dict[str, Any]) -> None:
    """The id of the new worksheet stands before the click, so that a second one opens the same."""
    slot = f"recheck-{entry['number']}"
    worksheet_id = st.session_state.setdefault(slot, new_worksheet_id())
    opened = ""
    if st.button("Re-check: open a worksheet with the same question", key="recheck", type="primary" if entry["stale"] else "secondary"):
        with told({"by": "Your name (in the menu)"}):
            opened = recheck(house, entry["number"], who=person(), worksheet_id=worksheet_id)
    if opened:
        del st.session_state[slot]
        go("worksheet", **{WORKSHEET: opened})
