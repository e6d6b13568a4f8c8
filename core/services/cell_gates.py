"""The cell gate over stored facts: for every cell of a run each condition with its state and reason. Worked out once, then kept."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from core.domain import cell_gate
from core.domain.arms import FORCED_ALL, FORCED_NONE, SUITE
from core.domain.cell_gate import MOVABLE, CellFacts, books_residual, facts_of, gate_of
from core.domain.run import FINAL
from core.services.access import authorize
from core.services.house import House

Arm = tuple[int, int]
Gate = dict[str, Any]


@lru_cache(maxsize=1)
def rules_id() -> str:
    """Identity of the rules: changed ones judge stored runs anew, and what the older ones said stays."""
    return hashlib.sha256(b"".join(Path(str(one)).read_bytes() for one in (cell_gate.__file__, __file__))).hexdigest()[:16]


def gates_of_run(house: House, run_id: str) -> dict[Arm, Gate]:
    """(n_max, c) → {state, usable, why, conditions, residuals} of every cell of a run; while it goes on, of what came so far."""
    authorize(house, "see", run_id)
    return _read(house.store.cells.gates(rules_id(), [run_id]).get(run_id) or _work_out(house, run_id))


def gates_of_runs(house: House, run_ids: list[str]) -> dict[str, dict[Arm, Gate]]:
    """The same for many runs, with one question for those that were judged before."""
    authorize(house, "see")
    known = house.store.cells.gates(rules_id(), run_ids)
    return {run_id: _read(known.get(run_id) or _work_out(house, run_id)) for run_id in dict.fromkeys(run_ids)}


def gate_of_stage(stage: dict[str, Any], gates: dict[tuple[int, int], dict[str, Any]]) -> dict[str, Any] | None:
    """What the cell gate says of the stage's cell; None for what has none, or before a repetition came."""
    return gates.get((stage["n_max"], stage["c"])) if stage["visits"] and stage["kind"] not in (FORCED_ALL, FORCED_NONE, SUITE) else None


def _read(body: dict[str, Any]) -> dict[Arm, Gate]:
    return {(one["n_max"], one["c"]): one["gate"] for one in body["cells"]}


def _work_out(house: House, run_id: str) -> dict[str, Any]:
    facts = _facts(house, run_id)
    cells = []
    for (n_max, c), mine in sorted(facts.items()):
        conditions = cell_gate.cell_gate(mine, facts.get((0, c)))
        cells.append({"n_max": n_max, "c": c, "gate": gate_of(conditions, books_residual(mine))})
    body = {"cells": cells}
    run = house.store.runs.get(run_id)
    if run is not None and run["state"] in FINAL:
        house.store.cells.keep_gates(run_id, rules_id(), body, house.clock.now())
    return body


def _facts(house: House, run_id: str) -> dict[Arm, CellFacts]:
    """Facts of every arm of the sweep. Forced-acceptance samples and suites are no cells."""
    run = house.store.runs.get(run_id)
    bodies: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for event in house.store.runs.events(run_id, kinds=("preflight", "server_ready", "sample")):
        bodies.setdefault(event["kind"], []).append((event["seq"], event["body"]))
    ready = {body["server"]: body for _, body in bodies.get("server_ready", [])}
    servers: dict[Arm, list[dict[str, Any]]] = {}
    for row in house.store.cells.servers(run_id):
        servers.setdefault((row["n_max"], row["c"]), []).append(row)
    preflight = next((body for _, body in bodies.get("preflight", [])), {})
    return {
        arm: facts_of(
            samples,
            ready=ready.get(servers[arm][0]["server"], {}) if arm in servers else {},
            placement=_placement(servers.get(arm, [])),
            preflight=preflight,
            spec=(run or {}).get("spec") or {},
        )
        for arm, samples in _samples(house, run_id, bodies.get("sample", [])).items()
    }


def _samples(house: House, run_id: str, came: list[tuple[int, dict[str, Any]]]) -> dict[Arm, list[dict[str, Any]]]:
    """Counted repetitions that nobody excluded; of an arm without one, whatever came of it."""
    out = {row["seq"] for row in house.store.cells.samples(run_id) if row["excluded_reason"] is not None}
    arms: dict[Arm, list[dict[str, Any]]] = {}
    for _, body in came:
        if not body.get("synthetic"):
            arms.setdefault((body["n_max"], body["c"]), []).append(body)
    good = {id(body) for seq, body in came if body.get("counted") and body.get("status") == "ok" and seq not in out}
    return {arm: [one for one in bodies if id(one) in good] or bodies for arm, bodies in arms.items()}


def _placement(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Placement of an arm over all its engine starts; where a later start lies elsewhere it is unknown which one was measured."""
    if not rows:
        return None
    first = rows[0]["placement"]
    moved = [key for row in rows for key in MOVABLE if row["placement"].get(key) != first.get(key)]
    return first if not moved else {**first, "moved": sorted(set(moved))}
