"""The gates of a worksheet: pass, fail or missing, each with what would turn it to pass; and the suggested action with its arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

from core.domain.matrix import measured_verdict
from core.domain.stats import compare
from core.domain.suite_row import has_scores, suite_gate
from core.domain.sweep import winner_of
from core.domain.worksheet import SUITE_BAND, Evidence, Side, is_pinned

PASS, FAIL, OPEN = "pass", "fail", "missing"
Verdict = tuple[str, str]


def gates_of(evidence: Evidence) -> list[dict[str, Any]]:
    """Every gate: {name, label, state, to_pass}."""
    found = []
    for name, (label, judge) in _GATES.items():
        state, to_pass = judge(evidence)
        found.append({"name": name, "label": label, "state": state, "to_pass": "" if state == PASS else to_pass})
    return found


def _both(evidence: Evidence, has: Callable[[Side], bool], to_pass: str) -> Verdict:
    return (PASS, "") if has(evidence.baseline) and has(evidence.candidate) else (OPEN, to_pass)


def _engine(evidence: Evidence) -> Verdict:
    return _both(
        evidence, lambda s: bool(s.engine and is_pinned(s.engine)), "Run the sweep with a build that tells its commit or build number."
    )


def _artifact(evidence: Evidence) -> Verdict:
    return _both(evidence, lambda s: bool(s.artifact and s.artifact.get("sha256")), "Run the sweep: the box hashes the model file.")


def _spill(evidence: Evidence) -> Verdict:
    known = lambda s: bool(s.placement and s.placement.get("state") not in (None, "unknown"))  # noqa: E731
    return _both(evidence, known, "Run with a load log that shows the placement (log level 4).")


def _n_max(evidence: Evidence) -> Verdict:
    if evidence.baseline.n_max == 0 and evidence.candidate.n_max:
        return PASS, ""
    return OPEN, "Measure speculation off and at least one n_max."


def _accepted(evidence: Evidence) -> Verdict:
    cell = evidence.candidate.single
    return (PASS, "") if cell and cell["n"] and cell["steps"] else (OPEN, "Run the sweep: acceptance comes from the engine's own counts.")


def _warm(evidence: Evidence) -> Verdict:
    return _both(evidence, lambda s: bool(s.single and s.single["n"] >= 3), "Measure at least 3 warm repetitions on both sides.")


def _suite(evidence: Evidence) -> Verdict:
    if has_scores(evidence.baseline.suites, evidence.candidate.suites):
        return suite_gate(evidence.baseline.suites, evidence.candidate.suites)
    off, on = (evidence.typed.get(("suite", side), {}).get("value") for side in ("baseline", "candidate"))
    if not off or not on or min(len(off["scores"]), len(on["scores"])) < 2:
        return OPEN, "Run a registered suite with the sweep, or enter at least 2 suite runs a side, speculation off and on."
    if off["suite"] != on["suite"]:
        return FAIL, "Both sides need scores of the same suite."
    band = max(off.get("band", SUITE_BAND), on.get("band", SUITE_BAND))
    low = median(off["scores"]) - band
    return (PASS, "") if median(on["scores"]) >= low else (FAIL, f"The candidate's median has to reach {low:g} (baseline − {band:g}).")


def _production(evidence: Evidence) -> Verdict:
    c = evidence.asked["production_c"]
    return _both(
        evidence, lambda s: bool(s.production and s.production["n"] >= 3), f"Measure winner and baseline at c={c}, 3 repetitions each."
    )


def _beats(evidence: Evidence) -> Verdict:
    off, on = evidence.baseline.production, evidence.candidate.production
    verdict = measured_verdict(on, off) if on and off else None
    if verdict is None:
        return OPEN, f"Measure both sides at c={evidence.asked['production_c']}."
    shown = {"no-difference": "no difference is shown", "loses": "the candidate is slower"}
    return (PASS, "") if verdict == "wins" else (FAIL, f"At production concurrency {shown[verdict]}; it has to be faster beyond noise.")


def _drift(evidence: Evidence) -> Verdict:
    if evidence.drifted is None:
        return OPEN, "Let the run finish: the baseline is measured again at its end."
    return (FAIL, "The baseline moved during the run (heat, other load): repeat it on a quiet box.") if evidence.drifted else (PASS, "")


def _same(evidence: Evidence) -> Verdict:
    if evidence.baseline_run_id:
        return FAIL, "Baseline and candidate come from two runs, a speed-up is taken within one: choose both from the same run."
    if evidence.unwanted is None:
        return OPEN, "Run both sides with recorded recipes."
    return (FAIL, "Differs beside the change: " + ", ".join(evidence.unwanted)) if evidence.unwanted else (PASS, "")


def _cells(evidence: Evidence) -> Verdict:
    """Every cell the comparison rests on has to pass the cell gate; which blanks are tolerated is said there."""
    sides = (("off", evidence.baseline), (f"n={evidence.candidate.n_max}", evidence.candidate))
    found = [(f"{name} at c={side.single['c'] if at == 'single' else evidence.asked['production_c']}", gate)
             for name, side in sides if side.single for at, gate in side.gates.items()]  # fmt: skip
    failed = [f"{name}: {gate['why']}" for name, gate in found if gate and gate["state"] == FAIL]
    blank = [f"{name}: {gate['why'] if gate else 'nothing was recorded.'}" for name, gate in found if not gate or not gate["usable"]]
    if failed:
        return FAIL, "Mend the cause and measure again. " + " ".join(dict.fromkeys(failed))
    if blank or len(found) < 2:
        return OPEN, " ".join(dict.fromkeys(blank)) or "Measure both sides: each cell is checked while it is measured."
    return PASS, ""


def _owner(evidence: Evidence) -> Verdict:
    return (PASS, "") if evidence.owner else (OPEN, "Name who answers for the change.")


_GATES: dict[str, tuple[str, Callable[[Evidence], Verdict]]] = {
    "engine_pinned": ("engine pinned on both sides", _engine),
    "artifact": ("artifact and checksum on both sides", _artifact),
    "spill": ("spill from a load log on both sides", _spill),
    "n_max": ("n_max", _n_max),
    "accepted_length": ("mean accepted length", _accepted),
    "warm_runs": ("3 or more warm runs on both sides", _warm),
    "suite": ("tool suite within noise or better", _suite),
    "production": ("re-bench at production concurrency", _production),
    "beats_baseline": ("candidate beats baseline there, beyond noise", _beats),
    "cell_gate": ("every cell passes the cell gate", _cells),
    "no_drift": ("no drift", _drift),
    "same_but_change": ("same everything except the change", _same),
    "owner": ("owner named", _owner),
}


def suggestion_of(evidence: Evidence, *, last_position: float | None = None) -> dict[str, Any]:
    """keep | widen | narrow | disable with its arithmetic; action None while nothing can be said. `last_position`: P of the longest n."""
    rates = {n: cell["rates"] for n, cell in evidence.steps.items() if cell["n"]}
    if 0 not in rates or len(rates) < 2:
        return {"action": None, "n_max": None, "text": "Nothing can be suggested before a baseline and one n_max are measured."}
    best, longest = winner_of(rates, evidence.asked.get("repetitions", 3)) or 0, max(rates)
    return _at_production(evidence, suggest(best, longest, evidence.candidate.n_max or longest, last_position, _ratios(rates)))


def _at_production(evidence: Evidence, found: dict[str, Any]) -> dict[str, Any]:
    """The row at the production concurrency decides where it is measured; where it is not, the sentence says so."""
    c, candidate = evidence.asked["production_c"], evidence.candidate.n_max or 0
    rates = {n: cell["rates"] for n, cell in evidence.production_steps.items() if cell["n"]}
    if c == 1:
        return found
    if 0 not in rates or len(rates) < 2:
        return {**found, "text": f"{found['text']} That is one stream: c={c} is not measured yet, and it decides."}
    best = winner_of(rates, evidence.asked.get("repetitions", 3)) or 0
    shown = f"At c={c}: " + ", ".join(f"n={n} {ratio:.2f}×" for n, ratio in sorted(_ratios(rates).items())) + "."
    if best == 0:
        return {"action": "disable", "n_max": 0, "text": f"{shown} No n_max beats speculation off there beyond noise. {found['text']}"}
    if best < candidate:
        return {"action": "narrow", "n_max": best, "text": f"{shown} n_max {best} beats the candidate's {candidate} there. {found['text']}"}
    action, n_max = ("keep", best) if found["action"] == "disable" else (found["action"], found["n_max"])
    return {"action": action, "n_max": n_max, "text": f"{shown} {found['text']}"}


def suggest(best: int, longest: int, candidate: int, last_position: float | None, ratios: dict[int, float]) -> dict[str, Any]:
    """The rule itself, from the winning n (0: off), the longest n measured, the candidate's n and the speed-ups by n."""
    shown = ", ".join(f"n={n} {ratio:.2f}×" for n, ratio in sorted(ratios.items()))
    if best == 0:
        return {"action": "disable", "n_max": 0, "text": f"No n_max beats speculation off beyond noise ({shown})."}
    if best < candidate:
        return {"action": "narrow", "n_max": best, "text": f"n_max {best} beats the candidate's {candidate} ({shown})."}
    if best == longest and (last_position is None or last_position >= 0.5):
        held = "was not recorded" if last_position is None else f"held ({last_position:.0%})"
        return {
            "action": "widen",
            "n_max": best,
            "text": f"The longest draft measured, n_max {best}, is the fastest and its last position {held} ({shown}).",
        }
    return {"action": "keep", "n_max": best, "text": f"n_max {best} is the fastest beyond noise ({shown})."}


def suggest_published(cells: dict[int, dict[str, Any]], candidate: int) -> dict[str, Any]:
    """The same rule on single published figures: without repetitions, a difference under 2 % is none."""
    ratios = {n: cell["tok_per_s"] / cells[0]["tok_per_s"] for n, cell in cells.items() if n}
    best = 0
    for n in sorted(ratios):
        if ratios[n] / (ratios[best] if best else 1.0) >= 1.02:
            best = n
    return suggest(best, max(ratios), candidate, None, ratios)


def _ratios(rates: dict[int, list[float]]) -> dict[int, float]:
    return {n: compare(values, rates[0]).ratio or 0.0 for n, values in rates.items() if n}


def flips_at_production(evidence: Evidence) -> bool:
    """Whether the verdict at the production concurrency differs from the single-stream one."""
    one = [measured_verdict(side, base) for side, base in _pairs(evidence)]
    return None not in one and one[0] != one[1]


def _pairs(evidence: Evidence) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    empty = {"n_max": 0}
    return [
        (evidence.candidate.single or empty, evidence.baseline.single),
        (evidence.candidate.production or empty, evidence.baseline.production),
    ]
