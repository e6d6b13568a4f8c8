"""A worksheet over published figures: the same table, every value marked as transcribed, and nothing there that a `keep` may rest on.

Rows are published cells {row_key, model, spill_label, n_max, tok_per_s, accept_share, accept_denominator, source}.
"""

from __future__ import annotations

from typing import Any

from core.domain.gates import suggest_published, suggestion_of
from core.domain.matrix import measured_price, published_accepted, published_price
from core.domain.price import Price
from core.domain.worksheet import Evidence, Side, fields_of, value

TRANSCRIBED = "transcribed"
_UNKNOWN = (
    "run_id", "steps", "decode_tokens", "predicted_ms", "drafted", "accepted", "prefill_tok_per_s", "ttft_ms", "why_bad", "d_ms",
)  # fmt: skip


def reference_evidence(
    asked: dict[str, Any], cells: list[dict[str, Any]], typed: dict[tuple[str, str], dict[str, Any]], owner: str | None
) -> Evidence:
    """Evidence from the published cells of one row: single figures without repetitions, counts or logs."""
    by_n = {cell["n_max"]: {**cell, **_as_cell(cell)} for cell in cells}
    base, chosen = by_n.get(0), _candidate(by_n, typed)
    sides = [Side() if one is None else _side(one) for one in (base, by_n.get(chosen) if chosen else None)]
    return Evidence(asked, baseline=sides[0], candidate=sides[1], steps=by_n, typed=typed, owner=owner, provenance=TRANSCRIBED)


def _candidate(cells: dict[int, dict[str, Any]], typed: dict[tuple[str, str], dict[str, Any]]) -> int | None:
    chosen = typed.get(("n_max", "candidate"), {}).get("value")
    tried = sorted(n for n in cells if n)
    if chosen in tried:
        return int(chosen)
    if not tried or 0 not in cells:
        return None
    return suggest_published(cells, tried[-1])["n_max"] or tried[0]


def _as_cell(cell: dict[str, Any]) -> dict[str, Any]:
    """The keys a measured cell has; what a published figure cannot tell stays unknown."""
    rate = cell["tok_per_s"]
    counts = {"n": 1, "n_bad": 0, "n_excluded": 0, "c": 1, "rates": [rate], "tok_per_s_min": rate, "tok_per_s_max": rate}
    return {**counts, **dict.fromkeys(_UNKNOWN), "kind": "published"}


def _side(cell: dict[str, Any]) -> Side:
    placement = {"state": "unknown", "label": f"{cell['spill_label']}, as published", "n_cpu_moe": cell["spill_layers"]}
    return Side(n_max=cell["n_max"], placement=placement, single=cell)


def reference_fields(evidence: Evidence) -> list[dict[str, Any]]:
    """The accounting table, its figures marked as transcribed; a from the published acceptance, with its denominator."""
    return [_marked(row, evidence) for row in fields_of(evidence)]


def _marked(row: dict[str, Any], evidence: Evidence) -> dict[str, Any]:
    sides = {"baseline": evidence.baseline, "candidate": evidence.candidate}
    marked = {name: _marked_value(row["key"], row[name], side) for name, side in sides.items()}
    is_done = all(one["state"] in ("ok", "not_applicable") for one in marked.values())
    return {**row, **marked, "state": "ok" if is_done else "open"}


def _marked_value(key: str, shown: dict[str, Any], side: Side) -> dict[str, Any]:
    cell = side.single
    if cell is None or shown["provenance"] == "typed" or shown["state"] in ("not_run", "not_applicable"):
        return shown
    door: dict[str, Any] = {"provenance": TRANSCRIBED, "run_id": None, "cell_id": f"published~{cell['row_key']}~{cell['n_max']}"}
    a = published_accepted(cell["n_max"], cell["accept_share"]) if cell["n_max"] else None
    if key == "accepted_length" and a is not None:
        return value(f"{a:.2f} tokens per step, from {cell['accept_share']:.0%} {cell['accept_denominator']}", **door)
    return {**shown, **door}


def reference_price(evidence: Evidence) -> Price | None:
    """The price of the candidate from the two published speeds."""
    one = evidence.candidate.single
    return published_price(one, evidence.baseline.single) if one else None


def reference_suggestion(evidence: Evidence) -> dict[str, Any]:
    """The same rule as for measured figures, with what the price says where no draft could win."""
    if 0 not in evidence.steps or len(evidence.steps) < 2:
        return {"action": None, "n_max": None, "text": "Nothing can be suggested without a baseline and one n_max."}
    found = suggest_published(evidence.steps, evidence.candidate.n_max or 0)
    price = reference_price(evidence)
    if found["action"] == "disable" and price and (price.break_even_accept_share or 0) > 1:
        return {**found, "text": f"{found['text']} {price.note}"}
    return found


def fields_for(evidence: Evidence) -> list[dict[str, Any]]:
    """The accounting table of measured or of published evidence."""
    return reference_fields(evidence) if evidence.provenance == TRANSCRIBED else fields_of(evidence)


def suggestion_for(evidence: Evidence) -> dict[str, Any]:
    """The suggestion on measured or on published evidence."""
    if evidence.provenance == TRANSCRIBED:
        return reference_suggestion(evidence)
    shares = evidence.candidate.per_position
    return suggestion_of(evidence, last_position=shares[-1] if shares else None)


def price_for(evidence: Evidence) -> Price | None:
    """The candidate's price at one stream, None where it cannot be formed."""
    if evidence.provenance == TRANSCRIBED:
        return reference_price(evidence)
    return measured_price(evidence.candidate.single or {"n_max": 0}, evidence.baseline.single)
