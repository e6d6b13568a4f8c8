"""One decision of the ledger: a line for the reader, and below it, when opened, the evidence as it was frozen."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.services.ledger import summary_of
from core.ui.components.cell_list import arm, cell_list
from core.ui.components.decision_form import verdict_badge
from core.ui.components.figures import rate_range, sign, speedup, when
from core.ui.components.gate_list import gate_list
from core.ui.components.links import worksheet_link
from core.ui.components.run_list import cut
from core.ui.components.worksheet_table import worksheet_table


def ledger_entry(entry: dict[str, Any]) -> None:
    """The entry; its evidence is drawn only while it is open."""
    summary, number = summary_of(entry), entry["number"]
    with st.container(border=True, key=f"entry-{number}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            verdict_badge(entry["verdict"])
            st.text(f"{summary['model']} · {_what(summary)}")
            st.text(_paid(summary))
        st.text(f"{entry['owner']} · {when(entry['noted_at'])} · the suggestion was: {entry['action']}")
        st.text(entry["reason"] or "no reason given")
        with st.container(horizontal=True, vertical_alignment="center"):
            worksheet_link(entry["worksheet_id"], cut(summary["title"], 80))
            is_open = st.toggle(f"Evidence of entry {number}", key=f"evidence-{number}")
        if is_open:
            _evidence(entry, summary)


def _what(summary: dict[str, Any]) -> str:
    return f"n={summary['n_max']}" if summary["n_max"] else "not priced"


def _paid(summary: dict[str, Any]) -> str:
    cell = summary["price"]
    if not cell or cell["speedup"] is None:
        return "no speed-up measured"
    where = f"at c={cell['c']}: " if cell["c"] > 1 else ""
    return f"{where}{speedup(cell['speedup'])} {sign(cell['verdict'])}"


def _evidence(entry: dict[str, Any], summary: dict[str, Any]) -> None:
    evidence, number = entry["evidence"], entry["number"]
    _speed_delta(summary)
    worksheet_table(evidence["fields"], None, key=f"frozen-{number}")
    st.text(f"Suggestion then: {evidence['suggestion']['action'] or 'none'}. {evidence['suggestion']['text']}")
    gate_list(evidence["gates"], key=f"frozen-gates-{number}")
    if summary["cells"]:
        cell_list(summary["cells"], key=f"frozen-cells-{number}")
    st.caption("what this does not show")
    st.text(evidence["not_shown"])
    st.caption("what would make it stale")
    st.text(", ".join((entry.get("details") or evidence)["stale_when"]))
    st.caption("hashes: of this entry, of the entry before, of the evidence")
    st.code(f"{entry['sha']}\n{entry['prev'] or '(first entry)'}\n{entry['evidence_sha256']}", language=None)


def _speed_delta(summary: dict[str, Any]) -> None:
    ranges = [f"{arm(cell)}: {rate_range(cell['tok_s_min'], cell['tok_s_max'], cell['n'])} tok/s" for cell in summary["cells"]]
    if ranges:
        st.text(" · ".join(ranges))
