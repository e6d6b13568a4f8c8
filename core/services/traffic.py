"""Several workloads behind one decision: their newest runs on the same recipe, weighted by the traffic shares a person typed in."""

from __future__ import annotations

from typing import Any

from core.domain.matrix import measured_verdict
from core.domain.reference_sheet import suggestion_for
from core.domain.run import DONE
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
    """Workload → (off, candidate) cells of its newest finished run on the same box, model and build, at the production concurrency."""
    asked, n_max = evidence.asked, evidence.candidate.n_max
    arms: dict[str, dict[int, dict[str, Any]]] = {}
    for cell in house.store.cells.for_matrix(asked["model"]):
        if cell["state"] == DONE and cell["c"] == asked["production_c"] and cell["box_id"] == asked["box_id"] and cell["n"]:
            arms.setdefault(cell["run_id"], {})[cell["n_max"]] = cell
    found: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
    for cells in arms.values():
        off, on = cells.get(0), cells.get(n_max or -1)
        if off and on and _same_recipe(on, evidence):
            found.setdefault(on["request"]["workload_id"], (off, on))
    return found


def _same_recipe(cell: dict[str, Any], evidence: Evidence) -> bool:
    """Build, artifact and placement of the candidate; context may follow the workload. An unknown placement equals only its own run's."""
    mine, recipe = evidence.candidate.recipe or {}, cell["recipe"] or {}
    if any(mine.get(key) != recipe.get(key) for key in ("engine_build", "engine_commit", "artifact_sha256", "n_max")):
        return False
    here, there = placement_words(mine.get("placement")), placement_words(recipe.get("placement"))
    return cell["run_id"] == evidence.run_id or (here is not None and here == there)


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
