"""The audit log as a table; every cell is text."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import streamlit as st


def audit_list(lines: list[dict[str, Any]]) -> None:
    """Lines as `list_audit` gives them, with a filter for what was refused."""
    is_denied = st.toggle("Only what was refused", key="audit-denied")
    shown = [line for line in lines if not is_denied or line["outcome"] == "denied"]
    rows = [
        {
            "no.": line["number"],
            "time (UTC)": line["noted_at"][:19].replace("T", " "),
            "who": line["name"] or line["actor"],
            "identity": line["actor"],
            "door": line["via"],
            "act": line["action"],
            "about": line["object"],
            "outcome": line["outcome"],
            "detail": json.dumps(line["detail"], ensure_ascii=False) if line["detail"] else "",
        }
        for line in shown
    ]
    if not rows:
        st.info("Nothing was refused.")
        return
    st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch", key="audit-table")
