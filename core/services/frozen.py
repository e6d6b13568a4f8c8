"""Freezes what a decision rests on: every figure, gate, recipe and hash as they stand, so that the entry explains itself later."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from core.domain.cell_gate import FAIL, Condition, cell_gate, facts_of
from core.domain.decision import FORMULAS, NOT_SHOWN
from core.domain.gates import gates_of
from core.domain.reference_sheet import fields_for
from core.domain.run import DONE
from core.domain.stale_decision import facts_of as stale_facts
from core.domain.worksheet import Evidence, Side
from core.services.access import authorize
from core.services.house import House
from core.services.traffic import suggestion_with_mix

_SAMPLE = (
    "seq",
    "stage",
    "n_max",
    "c",
    "repetition",
    "temperature",
    "counted",
    "status",
    "reason",
    "kind",
    "tok_per_s",
    "drafted",
    "accepted",
)


def freeze(house: House, worksheet: dict[str, Any], evidence: Evidence) -> dict[str, Any]:
    """The evidence as plain JSON: what was asked, both sides, fields, gates, suggestion, samples, run heads, facts that may go stale."""
    authorize(house, "see")
    found, (suggested, traffic) = asdict(evidence), suggestion_with_mix(house, evidence)
    found["typed"] = {f"{field}.{side}": entry for (field, side), entry in evidence.typed.items()}
    frozen = {
        **found,
        "title": worksheet["title"],
        "fields": fields_for(evidence),
        "gates": gates_of(evidence),
        "suggestion": suggested,
        "traffic": traffic,
        "facts": run_facts(house, evidence.run_id) if evidence.run_id else {},
        "cell_gate": {name: [asdict(one) for one in found] for name, found in cell_conditions(house, evidence).items()},
        "samples": _samples(house, evidence.run_id),
        "run_head": _run_head(house, evidence.run_id),
        "not_shown": NOT_SHOWN,
        "formulas": FORMULAS,
        "app_version": house.version,
    }
    plain: dict[str, Any] = json.loads(json.dumps(frozen, default=str))
    return plain


def _samples(house: House, run_id: str | None) -> list[dict[str, Any]]:
    return [{name: one[name] for name in _SAMPLE} for one in house.store.cells.samples(run_id)] if run_id else []


def _run_head(house: House, run_id: str | None) -> dict[str, Any] | None:
    """The last line of the run's own hash-linked ledger: it stands for every line before it."""
    run = house.store.runs.get(run_id) if run_id else None
    return {"run_id": run_id, "events": run["last_seq"], "sha": run["last_sha"]} if run else None


def run_facts(house: House, run_id: str) -> dict[str, Any]:
    """Engine build, driver, artifact, GPU, slots, spill, p_min and context of a run (see core/domain/stale_decision.py)."""
    authorize(house, "see", run_id)
    run = house.store.runs.get(run_id)
    preflight: dict[str, Any] = next((one["body"] for one in house.store.runs.events(run_id, kinds=("preflight",))), {})
    servers = house.store.cells.servers(run_id)
    speculative = [row for row in servers if row["n_max"]] or servers
    recipe = house.store.cells.recipe(speculative[0]["recipe_id"]) if speculative else None
    read_back = [house.store.cells.recipe(recipe_id) or {} for recipe_id in {row["recipe_id"] for row in servers}]
    slots = max((int(one["slots"]) for one in read_back if one.get("slots")), default=None)
    return stale_facts((run or {}).get("request") or {}, preflight, recipe, slots)


def cell_conditions(house: House, evidence: Evidence) -> dict[str, list[Condition]]:
    """The cell gate of every cell the decision rests on: “n=1 at c=4” → its conditions. Empty before a repetition came."""
    authorize(house, "see")
    if evidence.run_id is None:
        return {}
    run = house.store.runs.get(evidence.run_id) or {}
    bodies: dict[str, list[dict[str, Any]]] = {"sample": [], "server_ready": [], "preflight": []}
    for event in house.store.runs.events(evidence.run_id, kinds=tuple(bodies)):
        bodies[event["kind"]].append(event["body"])
    found = {}
    for c in sorted({1, evidence.asked["production_c"]}):
        base, cand = (_cell_facts(bodies, run, side, c) for side in (evidence.baseline, evidence.candidate))
        for mine, other in ((base, cand), (cand, base)):
            if mine is not None:
                found[f"{'off' if mine.n_max == 0 else f'n={mine.n_max}'} at c={c}"] = cell_gate(mine, other)
    return found


def _cell_facts(bodies: dict[str, list[dict[str, Any]]], run: dict[str, Any], side: Side, c: int) -> Any:
    samples = [
        body
        for body in bodies["sample"]
        if (body["n_max"], body["c"]) == (side.n_max, c) and body["counted"] and body["status"] == "ok" and "streams" in body
    ]
    if not samples:
        return None
    started = {body["server"]: body for body in bodies["server_ready"]}
    preflight = bodies["preflight"][0] if bodies["preflight"] else {}
    ready = started.get(samples[0]["server"], {})
    return facts_of(samples, ready=ready, placement=side.placement, preflight=preflight, spec=run.get("spec") or {})


def unfit_for_keep(evidence: Evidence, conditions: dict[str, list[Condition]]) -> list[str]:
    """Why figures may not carry a `keep`, one sentence each: not measured here, run not finished, synthetic, a failed cell gate."""
    reasons = []
    if evidence.provenance != "measured":
        reasons.append(f"The figures are {evidence.provenance}, and a keep needs figures measured here.")
    if evidence.outcome not in (None, DONE):
        reasons.append(f"The run did not finish ({evidence.outcome}).")
    cells = [cell for side in (evidence.baseline, evidence.candidate) for cell in (side.single, side.production) if cell]
    if any(cell.get("kind") == "synthetic" for cell in cells):
        reasons.append("Forced acceptance (synthetic) was measured, which no keep may rest on.")
    for name, found in conditions.items():
        reasons += [f"Cell {name} fails “{one.label}”: {one.reason}" for one in found if one.state == FAIL]
    return reasons
