"""A receipt as files: its samples as CSV, the whole as JSON. Spreadsheet formulas are put out of action, numbers JSON lacks become text."""

from __future__ import annotations

import json
import math
from typing import Any

from core.domain.spreadsheet import csv_bytes
from core.services.explain import explained_json

View = dict[str, Any]
SAMPLE_COLUMNS = (
    "run_id", "seq", "server", "stage", "n_max", "c", "repetition", "temperature", "counted", "status", "reason", "excluded_reason",
    "excluded_by", "tok_per_s", "client_tok_per_s", "ttft_ms", "prefill_tok_per_s", "wall_ms", "decode_tokens", "predicted_ms", "prompt_n",
    "prompt_ms", "drafted", "accepted", "steps", "per_position", "d_ms", "noted_at", "provenance",
)  # fmt: skip
_LEFT_OUT = ("events", "run_cells", "baseline_readings")  # read again from their own pages; a receipt is about its cell


def samples_csv(view: View) -> bytes:
    """One line a repetition, cold, failed and excluded ones included; lists joined by a space."""
    return csv_bytes(SAMPLE_COLUMNS, ([_flat(row.get(name)) for name in SAMPLE_COLUMNS] for row in view["samples"]))


def _flat(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value


def receipt_json(view: View, explained: View) -> bytes:
    """Everything the page shows, figures unrounded."""
    body = {name: value for name, value in view.items() if name not in _LEFT_OUT}
    whole = {**body, "explained": explained_json(explained)}
    return json.dumps(_plain(whole), indent=1, ensure_ascii=False, allow_nan=False, default=str).encode("utf-8")


def _plain(value: Any) -> Any:
    """Keys as text, and numbers that JSON has no form for as text ("NaN", "inf")."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else str(value)
    return value
