"""Results published elsewhere: off until somebody switches them on, in a table of their own, with link, date, caveat and note."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from core.domain.published import CAVEAT
from core.services.house import House
from core.services.reference import published_elsewhere
from core.ui.components.defused import defused
from core.ui.components.figures import NOT_RECORDED
from core.ui.components.matrix_filters import ALL
from core.ui.state import PUBLISHED, PUBLISHED_DRAFT, PUBLISHED_PLACEMENT

Row = dict[str, Any]
NOT_GIVEN = "not given"
_WEAK = "color: #8a8f98; font-style: italic"
_RIGHT = ("baseline tok/s", "with drafts tok/s", "speed-up as published", "speed-up worked out here", "acceptance", "tokens/step")


def published_switch() -> bool:
    """The one switch; its state is in the address bar."""
    return st.toggle(
        "Published elsewhere",
        key=PUBLISHED,
        bind="query-params",
        help="Shows transcribed results of other people in a table of their own, below. They enter no cell, median or gate.",
    )


def published_section(house: House) -> None:
    """Caveat, filters, table."""
    rows = published_elsewhere(house)
    st.subheader("Published elsewhere", anchor=False)
    st.text(f"✎ Transcribed, not measured here. {CAVEAT}")
    left, right, _ = st.columns(3)
    with left:
        placement = _choice("placement", PUBLISHED_PLACEMENT, rows, "placement")
    with right:
        draft = _choice("draft kind", PUBLISHED_DRAFT, rows, "draft_kind")
    shown = [row for row in rows if _fits(row["placement"], placement) and _fits(row["draft_kind"], draft)]
    weak = sum(row["second_hand"] for row in shown)
    st.caption(
        f"{len(shown)} of {len(rows)} rows · {weak} of them second-hand, grey and at the end · {NOT_RECORDED} not given by the source"
    )
    st.dataframe(
        styled(defused(table_of(shown))), hide_index=True, width="stretch", column_config=_config(), key="published-table", height=480
    )


def _choice(label: str, key: str, rows: list[Row], field: str) -> str:
    known = sorted({str(row[field]) for row in rows if row[field] is not None})
    empty = [NOT_GIVEN] if any(row[field] is None for row in rows) else []
    return str(st.selectbox(label, [ALL, *known, *empty], key=key, bind="query-params"))


def _fits(value: str | None, wanted: str) -> bool:
    return wanted in (ALL, value) or (wanted == NOT_GIVEN and value is None)


def _config() -> dict[str, Any]:
    link = st.column_config.LinkColumn("source", display_text=r"https?://(?:www\.)?(.*)", width="medium", pinned=True)
    return {"source": link, **{name: st.column_config.TextColumn(name, alignment="right") for name in _RIGHT}}


def styled(frame: pd.DataFrame) -> Any:
    """Second-hand rows weaker than the others."""
    return frame.style.apply(lambda row: [_WEAK if row["standing"] == "second-hand" else ""] * len(row), axis=1)


def table_of(rows: list[Row]) -> pd.DataFrame:
    """One line a result, as texts; an interval shows both ends, a blank stays a blank."""
    return pd.DataFrame([_line(row) for row in rows], columns=list(_line(_EMPTY)))


def _line(row: Row) -> dict[str, Any]:
    return {
        "source": row["source_url"],
        "published": _text(row["published"]),
        "standing": "second-hand" if row["second_hand"] else "from the source",
        "model": _text(row["model"]),
        "placement": _text(row["placement"]) + (f", {row['n_cpu_moe']} layers' experts" if row["n_cpu_moe"] is not None else ""),
        "draft": _text(row["draft_kind"]),
        "n_max": _text(row["n_max"]),
        "baseline tok/s": ends(row, "baseline_tok_s"),
        "with drafts tok/s": ends(row, "spec_tok_s"),
        "speed-up as published": ends(row, "speedup_published", sign="×"),
        "speed-up worked out here": ends(row, "speedup_worked_out", sign="×", places=2),
        "acceptance": ends(row, "accept_share", scale=100, sign="%"),
        "of": _text(row["accept_denominator"]),
        "tokens/step": ends(row, "tokens_per_step"),
        "streams": _text(row["concurrency"]),
        "hardware": _text(row["hardware"]),
        "quant": _text(row["quant"]),
        "architecture": _text(row["architecture"]),
        "engine": " ".join(part for part in (row["engine"], row["engine_build"]) if part) or NOT_RECORDED,
        "p_min": _text(row["p_min"]),
        "context": _text(row["context_tokens"]),
        "repeats": _text(row["repeats"]),
        "workload": _text(row["workload"]),
        "caveat": row["caveat"],
        "note": row["note"] or "",
    }


class _Empty(dict[str, Any]):
    def __missing__(self, key: str) -> Any:
        return None


_EMPTY = _Empty(second_hand=False, caveat="")


def _text(value: Any) -> str:
    return NOT_RECORDED if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def ends(row: Row, name: str, *, scale: float = 1, sign: str = "", places: int | None = None) -> str:
    """“44–46”, “45.7”, or the blank."""
    low, high = row[f"{name}_min"], row[f"{name}_max"]
    if low is None or high is None:
        return NOT_RECORDED
    words = [f"{scale * end:.{places}f}" if places is not None else f"{scale * end:.6g}" for end in (low, high)]
    return (words[0] if words[0] == words[1] else "–".join(words)) + sign
