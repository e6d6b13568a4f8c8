"""Downloads of a decision: memo as HTML and PDF, the frozen record as JSON, the recipe it was about as TOML."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from core.services.house import House
from core.services.ledger import decided_arm, record_json
from core.services.memo import memo_of
from core.services.memo_html import memo_html
from core.services.memo_pdf import memo_pdf
from core.ui.components.cell_notes import recipe_button
from core.ui.components.download import download


def decision_exports(house: House, entry: dict[str, Any]) -> None:
    """The memos are written only when somebody asks for one."""
    number, name = entry["number"], f"decision-{entry['number']}"
    files: list[tuple[str, str, str, str, Callable[[], str | bytes]]] = [
        ("Memo, HTML", "memo", f"{name}.html", "text/html", lambda: memo_html(memo_of(entry))),
        ("Memo, PDF", "memo", f"{name}.pdf", "application/pdf", lambda: memo_pdf(memo_of(entry))),
        ("Record, JSON", "decision record", f"{name}.json", "application/json", lambda: record_json(house, number)),
    ]
    with st.container(horizontal=True, key="decision-exports"):
        for label, kind, file, mime, make in files:
            key = label.lower().replace(", ", "-")
            download(house, label, make, what=(kind, f"entry {number}, {file}"), name=file, mime=mime, key=key)
        arm = decided_arm(entry)
        if arm:
            recipe_button(house, arm[0], arm[1:], "Recipe, TOML")
