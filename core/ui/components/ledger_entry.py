"""One decision: its line in the ledger with the four deltas; and, on its own page, the evidence as it was frozen."""

from __future__ import annotations

import re
from typing import Any

import streamlit as st

from core.domain.decision import FORMULAS
from core.domain.promotion import Delta
from core.services.ledger import summary_of
from core.ui.components.cell_list import arm, cell_list
from core.ui.components.decision_form import signed_by, verdict_badge
from core.ui.components.figures import NOT_RECORDED, STALE, blank, rate_range, sign, speedup
from core.ui.components.gate_list import gate_list
from core.ui.components.links import decision_link, run_link, worksheet_link
from core.ui.components.run_list import cut
from core.ui.components.worksheet_table import worksheet_table

ENTRIES = 20  # a page


def ledger_entry(entry: dict[str, Any]) -> None:
    """The line, its deltas, and the door to the entry."""
    summary, number = summary_of(entry), entry["number"]
    with st.container(border=True, key=f"entry-{number}"):
        st.text(cut(summary["title"], 200))
        entry_head(entry, summary)
        delta_table(summary["deltas"], key=f"deltas-{number}")
        with st.container(horizontal=True, vertical_alignment="center"):
            decision_link(number, f"Entry {number}: evidence, memo, hashes")
            worksheet_link(entry["worksheet_id"], "Its worksheet ↗")


def entry_head(entry: dict[str, Any], summary: dict[str, Any]) -> None:
    """Verdict, standing, what it was about, what it paid, who and why."""
    with st.container(horizontal=True, vertical_alignment="center"):
        verdict_badge(entry["verdict"])
        if entry["standing"] != "in force":
            st.badge(entry["standing"], color="gray")
        if entry["stale"]:
            st.badge(f"{STALE} STALE", color="yellow")
        st.text(f"{summary['model']} · {_what(summary)}")
        st.text(paid(summary))
    st.text(signed_by(entry))
    details = entry.get("details") or {}
    st.text(entry["reason"] or "no reason given")
    if details.get("against_why"):
        second = f" · second person: {details['second']}" if details.get("second") else ""
        st.text(f"Against the suggestion ({entry['evidence']['suggestion']['action']}), because: {details['against_why']}{second}")
    stale_list(entry["stale"])


def stale_list(changed: list[dict[str, Any]]) -> None:
    """What differs now from what the decision was taken under, each with the run that showed it."""
    for one in changed:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.text(f"{STALE} {stale_words(one)}")
            if one["run_id"]:
                run_link(one["run_id"], "the run that showed it ↗")


def stale_words(one: dict[str, Any]) -> str:
    """“engine build: b10473 → b11549”; of an age only what it is now."""
    return f"{one['what']}: {one['now']}" if one["was"] is None else f"{one['what']}: {_brief(one['was'])} → {_brief(one['now'])}"


def _brief(fact: Any) -> str:
    """A hash by its first digits; everything else as it is."""
    return f"{fact[:12]}…" if re.fullmatch(r"[0-9a-f]{64}", str(fact)) else str(fact)


def delta_table(deltas: list[Delta], *, key: str) -> None:
    """The four deltas: what changed, before, after. Three columns fit a phone."""
    grid = st.grid(3, wrap=False, min_column_width=95, gap="xsmall", key=key)
    for word in ("change", "before", "after"):
        with grid.cell():
            st.caption(word)
    for delta in deltas:
        change = delta["change"] if delta["state"] == "ok" else f"{blank(delta['state'])} {delta['change']}"
        with grid.cell(), st.container(gap=None):
            st.caption(delta["name"])
            st.text(change)
        for words in (delta["before"], delta["after"]):
            with grid.cell():
                st.text(words)


def _what(summary: dict[str, Any]) -> str:
    return f"n={summary['n_max']}" if summary["n_max"] else "not priced"


def paid(summary: dict[str, Any]) -> str:
    """“at c=4: 1.24× ▲”, or that nothing was measured."""
    cell = summary["price"]
    if not cell or cell["speedup"] is None:
        return "no speed-up measured"
    where = f"at c={cell['c']}: " if cell["c"] > 1 else ""
    return f"{where}{speedup(cell['speedup'])} {sign(cell['verdict'])}"


def frozen_evidence(entry: dict[str, Any], summary: dict[str, Any]) -> None:
    """Everything the decision rests on, as it was: table, gates, cells, what it does not show, hashes."""
    evidence, number, details = entry["evidence"], entry["number"], entry.get("details") or {}
    _speed_delta(summary)
    fields = [row for row in evidence["fields"] if row["key"] != "decision"]  # frozen before it was taken; it stands above
    worksheet_table(fields, None, key=f"frozen-{number}")
    if (details.get("formulas") or evidence.get("formulas") or FORMULAS) != FORMULAS:
        st.text(f"Taken under formulas {details.get('formulas') or evidence['formulas']}; today's are {FORMULAS}. Shown as computed then.")
    st.text(f"Suggestion then: {evidence['suggestion']['action'] or 'none'}. {evidence['suggestion']['text']}")
    gate_list(evidence["gates"], key=f"frozen-gates-{number}")
    if summary["cells"]:
        cell_list(summary["cells"], key=f"frozen-cells-{number}")
    st.caption("what this does not show")
    st.text(evidence["not_shown"])
    st.caption("what would make it stale")
    age = f"; older than {details['age_days']} days" if "age_days" in details else ""
    st.text(", ".join((entry.get("details") or evidence).get("stale_when", [])) + age)
    st.caption("hashes: of this entry, of the entry before, of the evidence")
    st.code(f"{entry['sha']}\n{entry['prev'] or '(first entry)'}\n{entry['evidence_sha256']}", language=None, wrap_lines=True)


def _speed_delta(summary: dict[str, Any]) -> None:
    for base, cand in zip(summary["cells"][::2], summary["cells"][1::2], strict=True):
        if base["status"] == cand["status"] == "ok" and cand["speedup"] is not None:
            was, now = (_range(one) for one in (base, cand))
            st.text(f"{arm(cand)}: {was} → {now} tok/s, {speedup(cand['speedup'])} {sign(cand['verdict'])}")


def _range(cell: dict[str, Any]) -> str:
    if cell["tok_s_min"] is not None:
        return rate_range(cell["tok_s_min"], cell["tok_s_max"])
    return NOT_RECORDED if cell["tok_s"] is None else f"{cell['tok_s']:.1f}"
