"""Beside a measured cell: its cold figures apart from the warm ones, the two residuals in words, and its recipe as a file."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.services.cold import cold_figures
from core.services.forecast import residuals
from core.services.house import House
from core.services.recipes import recipe_file
from core.ui.components.download import download
from core.ui.components.figures import NOT_RECORDED
from core.ui.problem import shown

_MARKS = {"ok": "✓", "failed": "✕", "not_run": "·", "not_applicable": "n/a", "not_recorded": NOT_RECORDED}


def cell_notes(house: House, view: dict[str, Any]) -> None:
    """`view` as the receipt has it; draws nothing for cells that were not measured here."""
    if view["kind"] != "measured":
        return
    run_id, n_max, c = view["run"]["run_id"], view["counts"]["n_max"], view["counts"]["c"]
    with st.container(border=True, key="cell-notes"), shown():
        st.markdown("**Can it be believed?**")
        for found in residuals(house, run_id, n_max, c).values():
            st.text(f"{_MARKS[found['state']]} {found['text']}")
        cold = cold_figures(house, run_id, n_max, c)
        lead = cold["text"] if cold["state"] == "ok" else f"{NOT_RECORDED} {cold['text']}"
        st.text(f"Cold, first reply after a start: {lead}. Never mixed with the warm figures above.")
        recipe_button(house, run_id, (n_max, c), "Download this recipe")


def recipe_button(house: House, run_id: str, arm: tuple[int, int] | None, label: str) -> None:
    """The recipe of an arm, or the winning one, as a TOML file; nothing where nothing was measured."""
    found = recipe_file(house, run_id, arm=arm)
    if found:
        name, text = found
        key = f"recipe-{run_id}-{'-'.join(map(str, arm or ('winner',)))}"
        download(house, label, lambda: text, what=("recipe", name), name=name, mime="application/toml", key=key)
