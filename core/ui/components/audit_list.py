"""The audit log as a table; every cell is text."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import streamlit as st

from core.ui.components.defused import defused


def audit_list(lines: list[dict[str, Any]]) -> None:
    """Lines as `list_audit` gives them, with a filter for what was refused."""
    is_denied = st.toggle("Only what was refused", key="audit-denied")
    shown = [line for line in lines if not is_denied or line["outcome"] == "denied"]
    rows = [_row(line) for line in shown]
    if not rows:
        st.info("Nothing was refused.")
        return
    st.dataframe(defused(pd.DataFrame(rows)), hide_index=True, width="stretch", key="audit-table")


def _row(line: dict[str, Any]) -> dict[str, Any]:
    """Text as a spreadsheet may open it: the table can be downloaded."""
    texts = {
        "time (UTC)": line["noted_at"][:19].replace("T", " "),
        "who": line["name"] or line["actor"],
        "identity": line["actor"],
        "door": line["via"],
        "act": line["action"],
        "about": line["object"],
        "outcome": line["outcome"],
        "detail": json.dumps(line["detail"], ensure_ascii=False) if line["detail"] else "",
    }
    return {"no.": line["number"], **texts}
