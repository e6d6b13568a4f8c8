"""The short field worksheet: seven questions, answered from the same evidence as the accounting table. Nothing is asked twice."""

from __future__ import annotations

from typing import Any

from core.domain.matrix import measured_price
from core.domain.worksheet import Evidence, rate_range

Question = dict[str, Any]
UNPRICED = "A question without an answer means: this change is not priced yet."


def questions_of(evidence: Evidence, fields: list[dict[str, Any]], suggestion: dict[str, Any], decision: str | None) -> list[Question]:
    """[{question, answers: [line], is_open}] in their order. `decision`: verdict and owner once it is taken, else None."""
    rows, c = {row["key"]: row for row in fields}, evidence.asked["production_c"]
    return [
        _asked("Which model is it, in which precision?", [evidence.asked["model"], *_sides(rows["artifact"])], rows["artifact"]),
        _asked("What of it lies on the GPU, and what on the host?", _sides(rows["spill"]), rows["spill"]),
        _asked("How fast is it without speculation, and at which context?", _baseline(evidence), rows["decode"]),
        _asked("Which n_max were tried, and what was accepted at each?", _steps(evidence), None),
        _asked("What does the product's own suite say, off and on?", _sides(rows["suite"]), rows["suite"]),
        _asked(f"Does it hold at the concurrency production serves, c={c}?", _sides(rows["production"]), rows["production"]),
        _asked("Keep, widen, narrow or disable, and which cost decided?", _verdict(evidence, suggestion, decision), None),
    ]  # fmt: skip


def _asked(question: str, answers: list[str], row: dict[str, Any] | None) -> Question:
    return {"question": question, "answers": answers, "is_open": not answers or (row is not None and row["state"] != "ok")}


def _sides(row: dict[str, Any]) -> list[str]:
    """Both sides on one line where they say the same; what is missing is left out, and the question stays open."""
    texts = {side: row[side]["text"] for side in ("baseline", "candidate") if row[side]["text"]}
    if len(set(texts.values())) == 1 and len(texts) == 2:
        return [texts["baseline"]]
    return [f"{side}: {text}" for side, text in texts.items()]


def _baseline(evidence: Evidence) -> list[str]:
    cell, recipe = evidence.baseline.single, evidence.baseline.recipe or {}
    if not cell or not cell["n"]:
        return []
    return [f"{rate_range(cell)} tok/s at one stream, context {recipe.get('context') or 'not recorded'}"]


def _steps(evidence: Evidence) -> list[str]:
    lines = []
    for n, cell in sorted(evidence.steps.items()):
        if n and cell["n"]:
            share = f"{cell['accepted'] / cell['drafted']:.0%} of {cell['drafted']} proposed" if cell["drafted"] else "not recorded"
            lines.append(f"n_max {n}: {rate_range(cell)} tok/s, accepted {share}")
        elif n and cell["n_bad"]:
            lines.append(f"n_max {n}: failed, {cell['why_bad']}")
    return lines


def _verdict(evidence: Evidence, suggestion: dict[str, Any], decision: str | None) -> list[str]:
    price = measured_price(evidence.candidate.production or evidence.candidate.single or {"n_max": 0}, _baseline_cell(evidence))
    lines = [decision] if decision else []
    if suggestion["action"]:
        lines.append(f"computed: {suggestion['action']}. {suggestion['text']}")
    if price and price.dominant:
        lines.append(f"dominant cost: {price.dominant}")
    return lines


def _baseline_cell(evidence: Evidence) -> dict[str, Any] | None:
    return evidence.baseline.production if evidence.candidate.production else evidence.baseline.single
