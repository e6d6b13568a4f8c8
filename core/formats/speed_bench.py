"""speed_bench.py: the saved JSON (summary by category and `overall`) and the comparison. Rates are means, acceptance is pooled."""

from __future__ import annotations

import re
from typing import Any

from core.formats.numbers import count, kept, number, percent, ratio

Row = dict[str, Any]
_MARKS = ("decode_speedup", "avg_pred_t/s", "avg_pred")
_SPLIT = re.compile(r"\s*\|\s*|\s{2,}|\t")
_NUMBER = re.compile(r"^([\d.]+) *(x|s|%|ms|t/s)?$")


def key_of(name: str) -> str | None:
    """The key of a column or JSON field, by what its name says; None for fields that nobody needs."""
    low = name.strip().lower()
    arm = "base_" if low.startswith("base") else "spec_" if low.startswith("spec") else ""
    for key, signs in (
        ("decode_speedup", ("decode_speedup",)),
        ("latency_speedup", ("latency_speedup",)),
        ("accept_share", ("accept_rate", "acceptance_rate", "acceptance")),
        ("latency_s", ("latency",)),
        ("prompt_tps", ("prompt_t/s", "prompt_tps", "prompt_per_second", "prompt_tok")),
        ("tps", ("pred_t/s", "pred_tps", "predicted_per_second", "pred_tok")),
        ("accepted", ("draft_n_accepted", "accepted")),
        ("drafted", ("draft_n", "drafted")),
        ("samples", ("samples", "n_samples")),
        ("category", ("category",)),
    ):
        if any(sign in low for sign in signs):
            return arm + key if key not in ("decode_speedup", "latency_speedup", "category") else key
    return None


def rows_of_json(document: Any) -> list[Row] | None:
    """Rows of the saved run's summary; None where it is no such file."""
    if not isinstance(document, dict) or "summary" not in document:
        return None
    summary = document["summary"]
    if isinstance(summary, dict):
        entries = [{"category": name, **fields} for name, fields in summary.items() if isinstance(fields, dict)]
        entries = entries or [{"category": "overall", **summary}]
    elif isinstance(summary, list):
        entries = [entry for entry in summary if isinstance(entry, dict)]
    else:
        return None
    return [_row(entry) for entry in entries[:1000]]


def _row(fields: Row) -> Row:
    row: Row = {}
    for name, value in fields.items():
        key = key_of(str(name))
        if key == "category":
            row[key] = str(value)[:128]
        elif key and key not in row:
            row[key] = count(value) if key in ("samples", "accepted", "drafted") else number(value)
    if row.get("accept_share") is None and row.get("drafted"):
        row["accept_share"] = kept(ratio(row.get("accepted"), row.get("drafted")))
    if not row.get("drafted", 1):
        row["accept_share"] = None  # nothing drafted: no acceptance, rather than none accepted
    return row


def rows_of_text(lines: list[str]) -> list[Row] | None:
    """Rows of a printed summary or comparison: columns by header name, cells with x, s or % behind them; None without such a header."""
    header: list[str | None] | None = None
    rows: list[Row] = []
    for text in lines:
        if any(mark in text for mark in _MARKS):
            header = [key_of(cell) for cell in _cells(text, None)]
            continue
        if header is None:
            continue
        cells = _cells(text, len(header))
        if len(cells) == len(header) and len(rows) < 1000:
            row = {key: _cell(key, cell) for key, cell in zip(header, cells, strict=True) if key}
            if any(isinstance(value, (int, float)) for value in row.values()):
                rows.append(row)
    return rows if header is not None and rows else None


def _cells(text: str, many: int | None) -> list[str]:
    """Cells of a row: by pipes or wide gaps, else by single spaces where that gives the right number."""
    cells = [cell for cell in _SPLIT.split(text.strip().strip("|").strip()) if cell]
    if many is None and len(cells) > 1:
        return cells if all(" " not in cell for cell in cells) or "|" in text else text.split()
    return cells if len(cells) == many else text.split()


def _cell(key: str, text: str) -> Any:
    if key == "category":
        return text[:128]
    if text.endswith("%"):
        return percent(text)
    found = _NUMBER.match(text)
    value = number(found[1]) if found else None
    if value is not None and found and found[2] == "ms":
        value = value / 1000
    return count(value) if key in ("samples", "accepted", "drafted") else value


def warnings_of(rows: list[Row]) -> list[str]:
    """The first check that fails."""
    for row in rows:
        accepted, drafted, share = row.get("accepted"), row.get("drafted"), row.get("accept_share")
        if accepted is not None and drafted is not None and accepted > drafted:
            return [f"{row.get('category')}: more tokens accepted ({accepted}) than drafted ({drafted})."]
        if share is not None and share > 1:
            return [f"{row.get('category')}: an acceptance of {share} is above 1."]
        for top, bottom, speedup in (("spec_tps", "base_tps", "decode_speedup"), ("base_latency_s", "spec_latency_s", "latency_speedup")):
            computed = ratio(row.get(top), row.get(bottom))
            if computed is not None and row.get(speedup) is not None and abs(computed - row[speedup]) > 0.01 * computed + 0.0051:
                return [f"{row.get('category')}: {speedup} {row[speedup]} is not {computed:.3f}."]
    return []
