"""The parts of the home page: what waits, what was decided, the matrix in a few lines, the boxes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import streamlit as st

from core.domain.run import ACTIVE, FAILED, LOST, QUEUED, short
from core.services.boxes import list_boxes
from core.services.decisions import list_decisions
from core.services.house import House
from core.services.matrix import fitting, rows_of
from core.services.matrix_heads import all_heads
from core.services.runs import list_runs
from core.services.worksheets import show_worksheet
from core.ui.components.figures import ago, literal, when
from core.ui.components.grid import best_words, row_title
from core.ui.components.links import page_link, receipt_link, run_link, worksheet_link

LOOK_EVERY_S = 5.0
FINISHED_LATELY = timedelta(days=7)
WORKSHEETS_SHOWN, RUNS_SHOWN, DECISIONS_SHOWN, ROWS_SHOWN = 6, 6, 5, 6
_ENDINGS = {"done": "finished", "cancelled": "stopped", "failed": "failed", "lost": "lost"}


@st.fragment(run_every=LOOK_EVERY_S)
def waiting(house: House) -> None:
    """Problems first, then runs, then worksheets with open gates."""
    boxes, runs = list_boxes(house), [run for run in list_runs(house) if _is_fresh(house, run)]
    silent = [entry for entry in boxes if entry["check"] and not entry["check"]["ok"]]
    open_sheets = open_worksheets(house)
    for entry in silent:
        _line("boxes", f"⚠ Box {entry['box'].name} did not answer", f"{_check_words(entry)} Checked {ago(entry['check']['noted_at'])}.")
    for run in runs[:RUNS_SHOWN]:
        _run_line(run)
    for view in open_sheets[:WORKSHEETS_SHOWN]:
        missing = [gate for gate in view["gates"] if gate["state"] != "pass"]
        with st.container(gap="xxsmall"):
            worksheet_link(view["worksheet"]["worksheet_id"], f"Worksheet “{view['worksheet']['title']}” misses {len(missing)}")
            st.caption("open: " + ", ".join(gate["label"] for gate in missing[:4]) + (" …" if len(missing) > 4 else ""))
    if not (silent or runs or open_sheets):
        st.text("Nothing waits. Propose a change to price the first bet.")


def open_worksheets(house: House) -> list[dict[str, Any]]:
    """Views of worksheets that nobody has decided yet, newest first."""
    decided = {entry["worksheet_id"] for entry in house.store.decisions.all()}
    undecided = [row["worksheet_id"] for row in house.store.worksheets.all() if row["worksheet_id"] not in decided]
    return [show_worksheet(house, worksheet_id) for worksheet_id in undecided[:WORKSHEETS_SHOWN]]


def _is_fresh(house: House, run: dict[str, Any]) -> bool:
    return run["ended_at"] is None or house.clock.now() - run["ended_at"] < FINISHED_LATELY


def _check_words(entry: dict[str, Any]) -> str:
    report = entry["check"]["report"]
    return str(report.get("error", report).get("message", "")) if isinstance(report, dict) else ""


def _run_line(run: dict[str, Any]) -> None:
    name = f"Run {short(run['run_id'])} “{run['title']}” on {run['box_id']}"
    with st.container(gap="xxsmall"):
        if run["state"] in ACTIVE:
            gone = f", not reached since {when(run['unreachable_since'])}" if run["unreachable_since"] else ""
            run_link(run["run_id"], f"◐ {name}")
            st.text(f"{run['state']}{gone}{': ' + run['note'] if run['state'] == QUEUED and run['note'] else ''}")
        else:
            mark = "✕" if run["state"] in (FAILED, LOST) else "●"
            run_link(run["run_id"], f"{mark} {name}")
            st.text(f"{_ENDINGS.get(run['state'], run['state'])} {ago(run['ended_at'])}. {run['note'] or ''}".strip())


def _line(page: str, label: str, text: str) -> None:
    with st.container(gap="xxsmall"):
        page_link(page, label)
        st.text(text)


def last_decisions(house: House) -> None:
    """The newest entries of the ledger."""
    entries = list_decisions(house)[:DECISIONS_SHOWN]
    for entry in entries:
        with st.container(gap="xxsmall"):
            worksheet_link(entry["worksheet_id"], f"{entry['verdict'].upper()} · {entry['evidence'].get('title', entry['worksheet_id'])}")
            st.text(f"{entry['owner']}, {when(entry['noted_at'])}{': ' + entry['reason'] if entry['reason'] else ''}")
    if entries:
        page_link("ledger", "The whole ledger")
    else:
        st.text("Nothing is decided yet. A worksheet with all its gates passed can be kept; any can be rejected.")


def small_matrix(house: House) -> None:
    """Best cell of each row, as a link."""
    heads = fitting(house, all_heads(house))
    for row in rows_of(house, heads[:ROWS_SHOWN]):
        words, cell_id = best_words(row)
        with st.container(gap="xxsmall"):
            st.caption(literal(f"{row_title(row)} · {'✎ transcribed' if row['provenance'] == 'transcribed' else row['provenance']}"))
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
