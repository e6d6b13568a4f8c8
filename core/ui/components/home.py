"""The parts of the home page: what waits, what was decided, the matrix in a few lines, the boxes."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.decision import KEEP
from core.domain.run import QUEUED, short
from core.services.boxes import list_boxes
from core.services.house import House
from core.services.ledger import Entry, summary_of
from core.services.matrix import fitting, rows_of
from core.services.matrix_heads import all_heads
from core.services.waiting import waiting_for
from core.ui.components.decision_form import verdict_badge
from core.ui.components.figures import STALE, ago, literal, when
from core.ui.components.grid import row_below, row_title
from core.ui.components.ledger_entry import paid, stale_words
from core.ui.components.links import decision_link, page_link, receipt_link, run_link, worksheet_link
from core.ui.components.outcomes import best_words
from core.ui.components.run_list import cut

LOOK_EVERY_S = 5.0
DECISIONS_SHOWN, ROWS_SHOWN, ITEMS_SHOWN = 5, 6, 12
_STEPS = (
    "Propose the change: box, engine, model, workload. A worksheet opens.",
    "Run the sweep: off, n_max 1, 2, 3 as long as each pays. Close the page; it goes on.",
    "Read the worksheet, which has filled itself: each figure opens its receipt. Then keep or reject.",
)
_ENDINGS = {"done": "finished", "cancelled": "stopped", "failed": "failed", "lost": "lost"}


@st.fragment(run_every=LOOK_EVERY_S)
def waiting(house: House, who: str) -> None:
    """What waits for this person; what waits for others is folded away. Without a name: everything."""
    found = waiting_for(house, who)
    for item in found["mine"][:ITEMS_SHOWN]:
        _SHOWN[item["kind"]](item)
    if not found["mine"]:
        st.text("Nothing waits. Propose a change to price the first bet." if not found["others"] else f"Nothing waits for {who}.")
    if found["others"]:
        with st.expander(f"Waiting for others ({len(found['others'])})", key="waiting-others"):
            for item in found["others"][:ITEMS_SHOWN]:
                _SHOWN[item["kind"]](item)
    if max(len(found["mine"]), len(found["others"])) > ITEMS_SHOWN:
        page_link("worksheets", "All worksheets")


def _silent(item: dict[str, Any]) -> None:
    entry = item["of"]
    with st.container(gap="xxsmall"):
        page_link("boxes", f"⚠ Box {entry['box'].name} did not answer")
        st.text(f"{_check_words(entry)} Checked {ago(entry['check']['noted_at'])}.")


def _check_words(entry: dict[str, Any]) -> str:
    report = entry["check"]["report"]
    return str(report.get("error", report).get("message", "")) if isinstance(report, dict) else ""


def _run_line(item: dict[str, Any]) -> None:
    run = item["of"]
    name = f"Run {short(run['run_id'])} on {cut(item['box'], 24)}"
    with st.container(gap="xxsmall"):
        if item["is_active"]:
            gone = f", not reached since {when(run['unreachable_since'])}" if run["unreachable_since"] else ""
            run_link(run["run_id"], f"◐ {name}")
            _about(run, f"{run['state']}{gone}{': ' + run['note'] if run['state'] == QUEUED and run['note'] else ''}")
        else:
            run_link(run["run_id"], f"{'✕' if item['is_bad'] else '●'} {name}")
            _about(run, f"{_ENDINGS.get(run['state'], run['state'])} {ago(run['ended_at'])}{_cells(item)}. {run['note'] or ''}".strip())


def _about(row: dict[str, Any], words: str) -> None:
    """The title as text: a link does not wrap, and a phone would cut it."""
    st.text(f"“{cut(row['title'], 120)}” {words}")


def _cells(item: dict[str, Any]) -> str:
    measured, lost = item["losing"]
    return f", {measured} cell{'s' if measured != 1 else ''}, {lost} losing" if measured else ""


def _sign_line(item: dict[str, Any]) -> None:
    with st.container(gap="xxsmall"):
        worksheet_link(item["of"]["worksheet_id"], "✍ A worksheet is priced: decide")
        _about(item["of"], f"Suggestion: {item['suggestion']['action'] or 'none'}. {item['suggestion']['text']}")


def _missing_line(item: dict[str, Any]) -> None:
    done, whole = item["priced"]
    names = item["fields"] or item["gates"]
    with st.container(gap="xxsmall"):
        worksheet_link(item["of"]["worksheet_id"], f"○ A worksheet misses {len(names)}")
        _about(item["of"], f"{done} of {whole} priced")
        st.caption("open: " + ", ".join(names[:4]) + (" …" if len(names) > 4 else ""))


_SHOWN = {"box": _silent, "run": _run_line, "sign": _sign_line, "missing": _missing_line}


def stale_decisions(entries: list[Entry]) -> None:
    """Decisions in force that newer runs, or their age, have put in doubt; everybody's, since everybody runs by them."""
    stale = [entry for entry in entries if entry["stale"]]
    for entry in stale[:ITEMS_SHOWN]:
        with st.container(gap="xxsmall"):
            decision_link(entry["number"], f"{STALE} Entry {entry['number']} went stale: re-check it")
            _about(entry["evidence"], "; ".join(stale_words(one) for one in entry["stale"]))
    if len(stale) > ITEMS_SHOWN:
        page_link("ledger", f"All {len(stale)} stale decisions")


def last_decisions(entries: list[Entry]) -> None:
    """How the bets stand at a glance, then the newest entries: what each paid, who decided and why, a stale one with its badge."""
    if entries:
        st.caption(_standing(entries))
    for entry in entries[:DECISIONS_SHOWN]:
        with st.container(gap="xxsmall"):
            with st.container(horizontal=True, vertical_alignment="center"):
                verdict_badge(entry["verdict"])
                if entry["stale"]:
                    st.badge(f"{STALE} STALE", color="yellow")
                decision_link(entry["number"], f"Entry {entry['number']}: {_paid(entry)}")
            st.text(cut(entry["evidence"].get("title", entry["worksheet_id"]), 120))
            st.caption(literal(f"{entry['owner']}, {when(entry['noted_at'])}{': ' + cut(entry['reason'], 160) if entry['reason'] else ''}"))
    if entries:
        page_link("ledger", "The whole ledger")
    else:
        st.text("Nothing is decided yet. A worksheet with all its gates passed can be kept; any can be rejected.")


def _standing(entries: list[Entry]) -> str:
    """“3 in force: 1 kept, 2 rejected · 1 of them stale”."""
    held = [entry for entry in entries if entry["standing"] == "in force"]
    kept, stale = sum(entry["verdict"] == KEEP for entry in held), sum(bool(entry["stale"]) for entry in held)
    return f"{len(held)} in force: {kept} kept, {len(held) - kept} rejected" + (f" · {stale} stale" if stale else "")


def _paid(entry: Entry) -> str:
    """“n=1 at c=4: 1.24× ▲”; a bet that nobody priced says so."""
    summary = summary_of(entry)
    return f"n={summary['n_max']} {paid(summary)}" if summary["n_max"] else "not priced"


def first_steps() -> None:
    """What this is for and how it goes, for somebody who opens an empty house."""
    with st.container(border=True, key="first-steps"):
        st.text("Somebody says “just turn on MTP”. Does it pay here? Three steps give an answer that can be signed:")
        for number, step in enumerate(_STEPS, 1):
            st.text(f"{number}. {step}")


def small_matrix(house: House) -> None:
    """Best cell of each row, as a link."""
    heads = fitting(house, all_heads(house))
    for row in rows_of(house, heads[:ROWS_SHOWN]):
        words, cell_id = best_words(row)
        with st.container(gap="xxsmall"):
            st.caption(literal(f"{row_title(row)} · {row_below(row)}"))
            if cell_id:
                receipt_link(cell_id, words)
            else:
                st.text(words)
    page_link("matrix", f"The whole matrix ({len(heads)} rows)")


def boxes_state(house: House) -> None:
    """Free, running, unchecked or silent, one line each."""
    for entry in list_boxes(house):
        with st.container(horizontal=True):
            st.text(f"{entry['box'].name}: {_box_words(entry)}", width="content")
            if entry["run"]:
                run_link(entry["run"]["run_id"], f"{short(entry['run']['run_id'])} ↗")
    page_link("boxes", "All boxes")


def _box_words(entry: dict[str, Any]) -> str:
    if entry["run"]:
        return f"{entry['run']['state']} {entry['run']['title']}"
    if entry["check"] is None:
        return "free, not checked yet"
    return f"free, answered {ago(entry['check']['noted_at'])}" if entry["check"]["ok"] else f"no answer {ago(entry['check']['noted_at'])}"
