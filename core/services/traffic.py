"""Several workloads behind one decision: their newest runs on the same recipe, weighted by the traffic shares a person typed in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from core.domain.matrix import measured_verdict
from core.domain.reference_sheet import suggestion_for
from core.domain.traffic import Load, weigh
from core.domain.worksheet import Evidence
from core.services.access import authorize
from core.services.house import House


def traffic_of(house: House, evidence: Evidence) -> dict[str, Any] | None:
    """The mix at the production concurrency, None where nobody typed shares:

    {rows: [{workload, share, run_id, off_tok_s, on_tok_s, speedup, verdict}], missing: [workload], weighted: Weighted | None}
    """
    authorize(house, "see")
    shares: dict[str, float] = evidence.typed.get(("traffic", "candidate"), {}).get("value") or {}
    if not shares:
        return None
    pairs = _pairs(house, evidence)
    rows = [_row(name, share, *pairs[name]) for name, share in shares.items() if name in pairs]
    missing = [name for name in shares if name not in pairs]
    loads = [Load(row["workload"], row["share"], row["off_ms"], row["on_ms"]) for row in rows]
    return {"rows": rows, "missing": missing, "weighted": weigh(loads) if loads and not missing else None}


def _pairs(house: House, evidence: Evidence) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Workload → (off, candidate) cells of its newest finished run on the same box, model, build and artifact, at the production
    concurrency; placement and context may follow the workload."""
    asked, candidate = evidence.asked, evidence.candidate
    if not candidate.n_max:
        return {}
    c, recipe = asked["production_c"], candidate.recipe or {}
    runs = house.store.cells.paired_runs(model=asked["model"], box_id=asked["box_id"], n_max=candidate.n_max, c=c, recipe=recipe)
    cells = {(cell["run_id"], cell["n_max"]): cell for cell in house.store.cells.of_runs(sorted(runs.values())) if cell["c"] == c}
    return {workload: (cells[run_id, 0], cells[run_id, candidate.n_max]) for workload, run_id in runs.items()}


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
    return with_traffic(suggestion_for(evidence), traffic, evidence.candidate.n_max, house.workload_title), traffic


def with_traffic(
    suggestion: dict[str, Any], traffic: dict[str, Any] | None, n_max: int | None, named: Callable[[str], str] = str
) -> dict[str, Any]:
    """The suggestion for the whole mix: one that does not pay turns it to disable, one that pays keeps what a single row rejects.

    `named`: workload id → what people call it.
    """
    if not traffic or suggestion["action"] is None:
        return suggestion
    if traffic["missing"]:
        missing = ", ".join(f"“{named(name)}”" for name in traffic["missing"])
        return {**suggestion, "text": f"{suggestion['text']} For the mix these are not measured yet: {missing}."}
    mix = traffic["weighted"]
    lead = f"Your mix: {mix.speedup:.2f}× ({mix.off_ms:.1f} ms a token off, {mix.on_ms:.1f} ms with n_max {n_max})."
    action, best = suggestion["action"], suggestion["n_max"]
    if mix.verdict != "wins":
        action, best = "disable", 0
    elif action == "disable":
        action, best = "keep", n_max
    return {"action": action, "n_max": best, "text": f"{lead} {suggestion['text']}"}
