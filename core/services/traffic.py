"""Several workloads behind one decision: their newest runs on the same recipe, weighted by the traffic shares a person typed in."""

from __future__ import annotations

from typing import Any

from core.domain.matrix import measured_verdict
from core.domain.reference_sheet import suggestion_for
from core.domain.stale_decision import placement_words
from core.domain.traffic import Load, weigh
from core.domain.worksheet import Evidence
from core.services.access import authorize
from core.services.house import House


def traffic_of(house: House, evidence: Evidence) -> dict[str, Any] | None:
    """The mix at the production concurrency, None where nobody typed shares:

    {rows: [{workload, share, run_id, off_tok_s, on_tok_s, speedup, verdict}], missing: [workload], missing_titles: [title],
    weighted: Weighted | None}
    """
    authorize(house, "see")
    shares: dict[str, float] = evidence.typed.get(("traffic", "candidate"), {}).get("value") or {}
    if not shares:
        return None
    pairs = _pairs(house, evidence)
    rows = [_row(name, share, *pairs[name]) for name, share in shares.items() if name in pairs]
    missing = [name for name in shares if name not in pairs]
    loads = [Load(row["workload"], row["share"], row["off_ms"], row["on_ms"]) for row in rows]
    titles = [house.workload_title(name) for name in missing]
    return {"rows": rows, "missing": missing, "missing_titles": titles, "weighted": weigh(loads) if loads and not missing else None}


def _pairs(house: House, evidence: Evidence) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Workload → (off, candidate) cells of its newest finished run on the same box, model and recipe, at the production concurrency."""
    asked, candidate = evidence.asked, evidence.candidate
    if not candidate.n_max:
        return {}
    c, recipe = asked["production_c"], candidate.recipe or {}
    same = {"model": asked["model"], "box_id": asked["box_id"], "n_max": candidate.n_max, "c": c}
    runs: dict[str, str] = {}
    for run in house.store.cells.paired_runs(**same, recipe=recipe):
        if run["run_id"] == evidence.run_id or _same_placement(recipe, run):
            runs.setdefault(run["workload"], run["run_id"])
    cells = {(cell["run_id"], cell["n_max"]): cell for cell in house.store.cells.of_runs(sorted(runs.values())) if cell["c"] == c}
    return {workload: (cells[run_id, 0], cells[run_id, candidate.n_max]) for workload, run_id in runs.items()}


def _same_placement(mine: dict[str, Any], other: dict[str, Any]) -> bool:
    """Placement of the candidate; context may follow the workload. An unknown placement equals only its own run's."""
    here, there = placement_words(mine.get("placement")), placement_words(other["placement"])
    return here is not None and here == there


def _row(workload: str, share: float, off: dict[str, Any], on: dict[str, Any]) -> dict[str, Any]:
    return {
        "workload": workload, "share": share, "run_id": on["run_id"], "off_tok_s": off["tok_per_s"], "on_tok_s": on["tok_per_s"],
        "off_ms": 1000.0 * off["c"] / off["tok_per_s"], "on_ms": 1000.0 * on["c"] / on["tok_per_s"],
        "speedup": on["tok_per_s"] / off["tok_per_s"], "verdict": measured_verdict(on, off),
    }  # fmt: skip


def suggestion_with_mix(house: House, evidence: Evidence) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The suggestion for a worksheet, and the mix it was weighted by (see `traffic_of`)."""
    authorize(house, "see")
    traffic = traffic_of(house, evidence)
    return with_traffic(suggestion_for(evidence), traffic, evidence.candidate.n_max), traffic


def with_traffic(suggestion: dict[str, Any], traffic: dict[str, Any] | None, n_max: int | None) -> dict[str, Any]:
    """The suggestion for the whole mix: one that does not pay turns it to disable, one that pays keeps what a single row rejects."""
    if not traffic or suggestion["action"] is None:
        return suggestion
    if traffic["missing"]:
        return {
            **suggestion,
            "text": f"{suggestion['text']} For the mix these are not measured yet: {', '.join(traffic['missing_titles'])}.",
        }
    mix = traffic["weighted"]
    lead = f"Your mix: {mix.speedup:.2f}× ({mix.off_ms:.1f} ms a token off, {mix.on_ms:.1f} ms with n_max {n_max})."
    action, best = suggestion["action"], suggestion["n_max"]
    if mix.verdict != "wins":
        action, best = "disable", 0
    elif action == "disable":
        action, best = "keep", n_max
    return {"action": action, "n_max": best, "text": f"{lead} {suggestion['text']}"}
