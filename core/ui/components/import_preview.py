"""Import page: files dropped in, what was recognised in each, what confirming does, what was taken in. Words from files are text."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pandas as pd
import streamlit as st

from core.domain.imported import missing_of
from core.services.house import House
from core.services.imports import FILES_AT_ONCE, KINDS, LIMIT, Preview, list_imports, preview, raw_import
from core.ui.components.defused import defused
from core.ui.components.download import download
from core.ui.components.figures import NOT_RECORDED, literal, plain, rate, rate_range, share, size, when
from core.ui.components.links import page_link
from core.ui.problem import shown

DETECT = "detect it"
UPLOADS, KIND, READ, DONE = "import-files", "import-kind", "import-read", "import-done"
_CELL_CHARS = 400
Files = list[tuple[str, bytes]]


def choose_files() -> tuple[Files, str | None]:
    """What was dropped and as which kind it is to be read (None: detect). A new choice forgets the last result."""
    st.session_state.setdefault(UPLOADS + "-round", 0)
    files = st.file_uploader(
        f"Files that an engine or a bench tool printed, up to {LIMIT >> 20} MiB each",
        accept_multiple_files=True,
        key=f"{UPLOADS}-{st.session_state[UPLOADS + '-round']}",
        on_change=lambda: st.session_state.pop(DONE, None),
    )
    kind = st.selectbox("Read them as", [DETECT, *KINDS], key=KIND, help="Only where detecting goes wrong: applies to all files.")
    taken = [(file.name, file.getvalue()) for file in (files or [])[:FILES_AT_ONCE]]
    if len(files or []) > FILES_AT_ONCE:
        st.text(f"At most {FILES_AT_ONCE} files are taken in at once; the others are left out.")
    return taken, None if kind == DETECT else kind


def read_all(house: House, files: Files, kind: str | None) -> list[Preview]:
    """Previews; what was read once in this tab is not read again."""
    known: dict[Any, Preview] = st.session_state.get(READ, {})
    slots = [(name, hashlib.sha256(data).hexdigest(), kind) for name, data in files]
    fresh: dict[Any, Preview] = {}
    for slot, (name, data) in zip(slots, files, strict=True):
        fresh[slot] = known[slot] if slot in known else preview(house, name, data, kind=kind)
    st.session_state[READ] = fresh
    return [fresh[slot] for slot in slots]


def forget_files() -> None:
    """Empties the drop field after an import."""
    st.session_state.pop(READ, None)
    st.session_state[UPLOADS + "-round"] += 1


def overview(previews: list[Preview]) -> None:
    """One line a file."""
    wide = {"result": st.column_config.TextColumn("result", width="medium")}
    frame = pd.DataFrame([_line(one) for one in previews])
    st.dataframe(defused(frame), hide_index=True, width="stretch", key="import-overview", column_config=wide)


def _line(one: Preview) -> dict[str, Any]:
    placed = sum(cell["n_max"] is not None for cell in one.cells)
    result = f"✕ {one.problem}" if one.problem else ("already there" if one.is_there else "new")
    return {
        "file": one.name,
        "result": result,
        "size": size(one.bytes),
        "read as": one.kind or NOT_RECORDED,
        "figures": len(one.figures),
        "cells for the matrix": f"{placed} of {len(one.cells)}" if one.cells else "none",
    }


def detail(one: Preview, number: int) -> None:
    """What was read from one file: cells, warnings, figures with units, what is missing."""
    if one.problem:
        st.text(f"✕ {one.name}: {one.problem}")
        return
    with st.expander(literal(f"{one.name}: {one.kind}"), expanded=number < 3, key=f"import-{number}"):
        st.caption(f"sha256 {one.sha256} · {size(one.bytes)}")
        for sentence in one.warnings:
            st.text(f"⚠ {sentence}")
        if one.cells:
            st.dataframe(defused(cell_table(one)), hide_index=True, width="stretch", key=f"import-cells-{number}")
            for sentence in gap_words(one):
                st.text(sentence)
        else:
            st.text(f"Kept as a reading, without a cell: {one.why_no_cells}.")
        st.caption("What was read")
        frame = pd.DataFrame([{"figure": key, "value": _shown(value), "unit": unit} for key, value, unit in one.figures])
        st.dataframe(
            defused(frame), hide_index=True, width="stretch", key=f"import-figures-{number}", height=min(38 + 35 * len(frame), 320)
        )
        if one.missing:
            st.text(f"Not in the file, and left unknown: {', '.join(one.missing)}.")


def _shown(value: Any) -> str:
    if isinstance(value, int | float):
        return f" {value}" if value < 0 else str(value)
    text = json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict | list) else str(value)
    return text if len(text) <= _CELL_CHARS else text[: _CELL_CHARS - 1] + "…"


def cell_table(one: Preview) -> pd.DataFrame:
    """Which recipe and cell each rate maps to."""
    return pd.DataFrame([_cell(cell) for cell in one.cells])


def gap_words(one: Preview) -> list[str]:
    """What the cells do not say, and which of them have no place in the matrix for it."""
    gaps = list(dict.fromkeys(gap for cell in one.cells for gap in missing_of(cell)))
    homeless = sum(cell["n_max"] is None for cell in one.cells)
    said = [f"The file does not say, for these cells: {', '.join(gaps)}."] if gaps else []
    return said + (
        [f"Without a known n_max {homeless} of {len(one.cells)} have no column in the matrix: kept, not shown there."] if homeless else []
    )


def _cell(cell: dict[str, Any]) -> dict[str, Any]:
    n_max = {None: f"{NOT_RECORDED} unknown", 0: "off"}.get(cell["n_max"], str(cell["n_max"]))
    return {
        "column n_max": n_max,
        "tok/s": rate(cell["tok_per_s"]),
        "lowest–highest (n)": rate_range(cell["tok_per_s_min"], cell["tok_per_s_max"], cell["n"]),
        "acceptance": share(cell["accept_share"], cell["accept_denominator"]) if cell["n_max"] != 0 else "n/a",
        "a": plain(cell["a"]) if cell["n_max"] != 0 else "n/a",
        "model": cell["model"] or NOT_RECORDED,
        "engine build": cell["build"] or NOT_RECORDED,
        "settings": cell["settings"] or NOT_RECORDED,
        "concurrency": str(cell["c"] or NOT_RECORDED),
        "workload": cell["workload"] or NOT_RECORDED,
        "rate is": cell["basis"],
    }


def result(answer: dict[str, Any]) -> None:
    """What confirming did."""
    st.success(f"{answer['added']} taken in, {answer['already_there']} already there, {answer['rows']} cells added.")
    for sentence in answer["warnings"]:
        st.text(sentence)
    page_link("matrix", "See them in the matrix", provenance="imported")


def imported_so_far(house: House) -> None:
    """Files of earlier imports."""
    files = list_imports(house)
    if not files:
        return
    st.subheader("Taken in so far", anchor=False)
    lines = [
        {"file": row["name"], "read as": row["kind"], "cells": row["cells"], "size": size(row["bytes"]), "taken in": when(row["noted_at"]),
         "by": row["imported_by"], "sha256": f"{row['sha256'][:12]}…"}
        for row in files
    ]  # fmt: skip
    st.dataframe(defused(pd.DataFrame(lines)), hide_index=True, width="stretch", key="import-so-far")


def raw_file(house: House, sha256: str) -> None:
    """The file itself, as it came."""
    with shown():
        name, data = raw_import(house, sha256)
    label, mime = "Download the imported file", "application/octet-stream"
    download(house, label, lambda: data, what=("imported file", sha256), name=name, mime=mime, key="import-raw")
