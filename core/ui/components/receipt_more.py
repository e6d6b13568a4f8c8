"""What lies behind a receipt: commands, raw log, decisions and worksheets. What came from outside is shown as text."""

from __future__ import annotations

import json
import shlex
from functools import partial
from typing import Any

import streamlit as st

from core.services.house import House
from core.services.raw_logs import log_page
from core.services.runs import read_raw
from core.ui.components.download import download
from core.ui.components.figures import plain, size, when
from core.ui.components.links import worksheet_link
from core.ui.problem import shown

View = dict[str, Any]


def commands(view: View) -> None:
    """The exact argument lists; the API key was never stored."""
    for server in view["servers"]:
        st.caption(f"engine start {server['server']}, loaded in {plain(server['load_s'], 1)} s · key replaced by \\*\\*\\*")
        st.code(shlex.join(server["argv"]), language=None, wrap_lines=True)
        st.text(f"Placement read back: {server['placement'].get('label', 'unknown')}")
        with st.expander("As an argument list"):
            st.code(json.dumps(server["argv"], ensure_ascii=False, indent=1), language=None, wrap_lines=True)
    if not view["servers"]:
        st.text("No engine start is recorded.")


def raw_logs(house: House, view: View) -> None:
    """Raw files kept beside the database: searched literally, a page at a time, and the whole as a download."""
    names = [kept["name"] for kept in view["raw_files"]]
    if not names:
        st.text("No raw log is kept (it comes home when the run ends).")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox("File", names, index=len(names) - 1, key="raw-file", width=220)
        wanted = st.text_input("Search, literally", key="raw-search", placeholder="every line that holds this text", max_chars=200)
    kept = next(one for one in view["raw_files"] if one["name"] == name)
    st.caption(f"{kept['name']} · {size(kept['bytes'])} · sha256 {kept['sha256'][:16]}…")
    with shown():
        _log_lines(house, kept, wanted or "")
        made, thing, mime = partial(read_raw, house, kept["run_id"], name), f"{kept['run_id']} {name}", "application/octet-stream"
        download(house, f"Download {name}", made, what=("raw log", thing), name=name, mime=mime, key="receipt-raw-log")


def _log_lines(house: House, kept: View, wanted: str) -> None:
    key = f"raw-page-{kept['name']}-{abs(hash(wanted)) % 10**8}"
    page = log_page(house, kept["run_id"], kept["name"], search=wanted, page=st.session_state.get(key))
    hits = f"{page.found} of {page.total} lines hold it" if wanted else f"{page.total} lines"
    st.caption(f"{hits}, page {page.page} of {page.pages}")
    width = len(str(page.total))
    st.code("\n".join(f"{at:>{width}} │ {line}" for at, line in page.lines) or "(nothing)", language=None, height=320)
    if page.pages > 1:
        st.pagination(page.pages, default=page.pages, key=key)


def resting(view: View) -> None:
    """Every decision on this run, what the cell was in it, and the worksheets that read it."""
    for entry in view["decisions"]:
        words = f"entry {entry['number']}: {entry['verdict'].upper()} · {entry['owner']} · {when(entry['noted_at'])}"
        worksheet_link(entry["worksheet_id"], words)
        st.caption(f"this cell was {entry['as']}" if entry["as"].startswith("another") else f"this cell was the {entry['as']}")
        st.text(entry["reason"])
    if not view["decisions"]:
        st.text("No decision rests on this cell.")
    for sheet in view["worksheets"]:
        worksheet_link(sheet["worksheet_id"], f"worksheet “{sheet['title']}”")
    if not view["worksheets"]:
        st.text("No worksheet reads it.")
