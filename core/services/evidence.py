"""The evidence of a worksheet: what its runs measured on either side, and what people typed."""

from __future__ import annotations

from typing import Any

from core.domain.recipe import SPECULATION, differences, unwanted_differences
from core.domain.revisions import current
from core.domain.run import DONE
from core.domain.sweep import winner_of
from core.domain.worksheet import Evidence, Side
from core.formats.version import read_version
from core.services.access import authorize
from core.services.cell_gates import gates_of_run
from core.services.cold import cold_figures
from core.services.house import House
from core.services.readings import readings_of_arm
from core.services.reference_sheets import evidence_from_reference
from core.services.suites import suites_of_side


def evidence_of(house: House, worksheet: dict[str, Any], *, owner: str | None = None) -> Evidence:
    """Everything measured and typed for a worksheet, from its newest finished run (else its newest run)."""
    authorize(house, "see")
    if worksheet["body"].get("reference"):
        return evidence_from_reference(house, worksheet, owner=owner)
    typed = current(house.store.worksheets.entries(worksheet["worksheet_id"]))
    run, asked = _run_of(house, worksheet, typed, "candidate"), worksheet["body"]
    if run is None:
        return Evidence(asked, typed=typed, owner=owner)
    base_run = _run_of(house, worksheet, typed, "baseline") if typed.get(("recipe", "baseline"), {}).get("value") else run
    cells = house.store.cells.of_run(run["run_id"])
    steps = {cell["n_max"]: cell for cell in cells if cell["c"] == 1}
    chosen = _candidate_n(steps, typed, asked.get("repetitions", 3))
    others = cells if base_run is None or base_run["run_id"] == run["run_id"] else house.store.cells.of_run(base_run["run_id"])
    baseline = _side(house, base_run or run, others, 0, asked["production_c"])
    candidate = _side(house, run, cells, chosen, asked["production_c"])
    finished, apart = _finished(house, run), bool(base_run and base_run["run_id"] != run["run_id"])
    return Evidence(
        asked,
        run["run_id"],
        run["state"],
        _drifted(house, run, base_run or run),
        finished.get("stop"),
        baseline,
        candidate,
        steps,
        typed,
        unwanted_differences(baseline.recipe, candidate.recipe) if baseline.recipe and candidate.recipe else None,
        owner,
        {cell["n_max"]: cell for cell in cells if cell["c"] == asked["production_c"]},
        base_run["run_id"] if base_run and apart else None,
    )


def _run_of(house: House, worksheet: dict[str, Any], typed: dict[tuple[str, str], dict[str, Any]], side: str) -> dict[str, Any] | None:
    """The run a person chose for that side, else the worksheet's newest finished one, else its newest."""
    chosen = typed.get(("recipe", side), {}).get("value")
    found = house.store.runs.get(chosen["run_id"]) if chosen else None
    runs = house.store.runs.find(worksheet_id=worksheet["worksheet_id"])
    return found or next((one for one in runs if one["state"] == DONE), runs[0] if runs else None)


def _finished(house: House, run: dict[str, Any]) -> dict[str, Any]:
    return next((event["body"] for event in house.store.runs.events(run["run_id"], kinds=("run_finished",))), {})


def _drifted(house: House, *runs: dict[str, Any]) -> bool | None:
    """Whether any of the runs drifted; None while one of them has not said."""
    said = [_finished(house, run).get("drifted") for run in runs]
    return True if True in said else None if None in said else False


def _candidate_n(steps: dict[int, dict[str, Any]], typed: dict[tuple[str, str], dict[str, Any]], planned: int) -> int | None:
    """The candidate's n: the one a person chose, else the winner, else (off wins) the smallest n measured."""
    measured = sorted(n for n, cell in steps.items() if n and cell["n"])
    recipe = typed.get(("recipe", "candidate"), {}).get("value")
    chosen = recipe["n_max"] if recipe else typed.get(("n_max", "candidate"), {}).get("value")
    if chosen in measured:
        return int(chosen)
    return winner_of({n: cell["rates"] for n, cell in steps.items() if cell["n"]}, planned) or (measured[0] if measured else None)


def _side(house: House, run: dict[str, Any], cells: list[dict[str, Any]], n_max: int | None, production_c: int) -> Side:
    mine = {cell["c"]: cell for cell in cells if cell["n_max"] == n_max}
    single = mine.get(1)
    if n_max is None or single is None:
        return Side()
    preflight: dict[str, Any] = next((e["body"] for e in house.store.runs.events(run["run_id"], kinds=("preflight",))), {})
    text = preflight.get("engine", {}).get("version_text", "")
    build, commit = read_version(text)
    servers = [row for row in house.store.cells.servers(run["run_id"]) if (row["n_max"], row["c"]) == (n_max, 1)]
    logs = [one for one in readings_of_arm(house, run["run_id"], n_max, 1) if one["values"]]
    shares = [s["per_position"] for s in house.store.cells.samples(run["run_id"], n_max=n_max, c=1) if s["per_position"] and s["counted"]]
    gates = gates_of_run(house, run["run_id"])
    return Side(
        n_max=n_max,
        engine={"build": build, "commit": commit, "version_text": text},
        artifact=preflight.get("artifact"),
        placement=servers[-1]["placement"] if servers else None,
        recipe=house.store.cells.recipe(single["recipe_id"]),
        single=single,
        production=mine.get(production_c),
        per_position=[sum(column) / len(shares) for column in zip(*shares, strict=False)] if shares else None,
        log={"name": logs[-1]["name"], **logs[-1]["values"]} if logs else None,
        gates={at: gates.get((n_max, c)) for at, c in (("single", 1), ("production", production_c)) if c in mine},
        suites=suites_of_side(house, run, n_max),
        cold=cold_figures(house, run["run_id"], n_max, 1)["text"],
    )


def recipe_differences(evidence: Evidence) -> list[dict[str, Any]]:
    """Every key in which the two recipes differ: {key, baseline, candidate, is_change}; is_change False: not the change under test."""
    base, cand = evidence.baseline.recipe, evidence.candidate.recipe
    if not base or not cand:
        return []
    return [
        {"key": key, "baseline": one, "candidate": other, "is_change": key in SPECULATION}
        for key, (one, other) in differences(base, cand).items()
    ]
