"""Tool suites: registered per box as argument lists, run by a sweep on both sides, and what their scores say."""

from __future__ import annotations

from statistics import median
from typing import Any

from core.domain.box import Box, Suite
from core.domain.forms import checked
from core.domain.suite_score import JSON, REGEX
from core.domain.worksheet import SUITE_BAND
from core.errors import InvalidInput, NotFound
from core.services.access import authorize, record
from core.services.house import House

_HINT = "Nothing was registered; what you typed is still there."


def register_suite(house: House, box_id: str, values: dict[str, Any], *, who: str) -> Box:
    """Adds a suite to a box, or registers it anew under its name. `values`: the fields of Suite. Raises InvalidInput, NotFound."""
    authorize(house, "box.edit", box_id, signed=who)
    box = house.box(box_id)
    problems = {} if who.strip() else {"by": "is needed."}
    try:
        suite = checked(Suite, values)
    except InvalidInput as error:
        raise InvalidInput(error.problems | problems, hint=_HINT) from error
    if problems:
        raise InvalidInput(problems, hint=_HINT)
    kept = [one for one in box.suites if one.id != suite.id]
    record(house, "box.edit", box_id, suite=suite.id, argv=suite.argv)
    return _put(house, box, [*kept, suite], who)


def remove_suite(house: House, box_id: str, suite_id: str, *, who: str) -> Box:
    """Takes a suite off a box; what it scored before stays. Raises NotFound."""
    authorize(house, "box.edit", box_id, signed=who)
    box = house.box(box_id)
    if box.suite(suite_id) is None:
        raise NotFound("suite", suite_id, [one.id for one in box.suites])
    record(house, "box.edit", box_id, removed_suite=suite_id)
    return _put(house, box, [one for one in box.suites if one.id != suite_id], who)


def _put(house: House, box: Box, suites: list[Suite], who: str) -> Box:
    changed = box.model_copy(update={"suites": suites})
    house.store.boxes.put(changed, who=who.strip() or "somebody", at=house.clock.now())
    return changed


def rule_words(suite: Suite) -> str:
    """How the score is read, in words."""
    words = {"exit": "exit code: 0 is 100, 1 is 0", "file": "the number it writes to DRAFTLEDGER_SCORE_FILE"}
    words |= {JSON: f"{suite.at} in the JSON it prints", REGEX: f"the last line that fits {suite.at}"}
    return words[suite.by]


def suites_of_side(house: House, run: dict[str, Any], n_max: int) -> list[dict[str, Any]]:
    """Suites of a run on one side: {suite, scores, band, state: ok | failed | not_run, reason, run_id}; empty: none was asked for."""
    authorize(house, "see")
    asked = (run["spec"] or {}).get("suites") or []
    came = [row for row in house.store.cells.suite_runs(run["run_id"]) if row["n_max"] == n_max]
    return [_side(one, [row for row in came if row["suite"] == one["id"]], run["run_id"]) for one in asked]


def _side(asked: dict[str, Any], rows: list[dict[str, Any]], run_id: str) -> dict[str, Any]:
    scores = [row["score"] for row in rows if row["status"] == "ok"]
    bad = next((row["reason"] for row in rows if row["status"] != "ok"), "")
    state = "ok" if scores else "failed" if bad else "not_run"
    band = asked.get("band", SUITE_BAND)
    return {"suite": asked["id"], "scores": scores, "band": band, "state": state, "reason": bad, "run_id": run_id}


def suite_table(house: House, run: dict[str, Any]) -> list[dict[str, Any]]:
    """What the run page shows, one line a suite: {suite, band, off, on: {n_max, scores, state, reason}, difference, verdict, runs}.

    verdict: within | better | worse (by the suite's band, on medians), None while a side has fewer than 2 scores. `runs`: every run.
    """
    authorize(house, "see")
    rows = house.store.cells.suite_runs(run["run_id"])
    n = next((row["n_max"] for row in rows if row["n_max"]), None)
    sides = {name: suites_of_side(house, run, side) for name, side in (("off", 0), ("on", n)) if side is not None}
    table = []
    for place, off in enumerate(sides["off"]):
        on = sides["on"][place] if "on" in sides else {**off, "scores": [], "state": "not_run", "reason": ""}
        gap = median(on["scores"]) - median(off["scores"]) if on["scores"] and off["scores"] else None
        enough = min(len(on["scores"]), len(off["scores"])) >= 2
        word = None
        if gap is not None and enough:
            word = "within" if abs(gap) <= off["band"] else "better" if gap > 0 else "worse"
        mine = [row for row in rows if row["suite"] == off["suite"]]
        line = {"suite": off["suite"], "band": off["band"], "off": {"n_max": 0, **off}, "on": {"n_max": n, **on}}
        table.append({**line, "difference": gap, "verdict": word, "runs": mine})
    return table
