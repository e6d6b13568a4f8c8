"""The promotion ledger as it is read: what each decision changed, whether it still holds, what made it stale; and the re-check."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

from core.domain.decision import STALE_WHEN, WITHDRAWN, standing
from core.domain.handles import ERASED, HANDLE
from core.domain.matrix import measured_cell, published_cell
from core.domain.promotion import deltas_against_old, deltas_of, losing_cells
from core.domain.reference_sheet import TRANSCRIBED
from core.domain.stale_decision import changes, too_old
from core.errors import InvalidInput
from core.services.access import authorize
from core.services.decision_chain import chain_rows
from core.services.decisions import entry_of
from core.services.frozen import run_facts
from core.services.house import House
from core.services.reference_sheets import propose_from_reference
from core.services.worksheets import propose

Entry = dict[str, Any]
FILTERS = ("q", "verdict", "owner", "model", "stale", "since", "until")


def ledger_entries(house: House, **filters: str) -> list[Entry]:
    """Entries, newest first, with `standing` (in force, superseded by N, …) and `stale` (what changed since); filtered.

    Filters, all text, empty means any: q (searched in title, model, owner, reason), verdict, owner, model, stale (yes or no), since and
    until (YYYY-MM-DD). Raises InvalidInput for a date that is none.
    """
    authorize(house, "see")
    since, until = _day(filters, "since"), _day(filters, "until")
    entries = house.store.decisions.all()
    state, watch = standing(entries), Watch(house)
    found = [{**entry, "standing": state[entry["number"]], "stale": watch.changes(entry, state[entry["number"]])} for entry in entries]
    return [entry for entry in reversed(found) if _matches(entry, filters, since, until)]


def ledger_entry_of(house: House, number: int) -> Entry:
    """One entry with `standing` and `stale`; raises NotFound."""
    authorize(house, "see")
    entries = house.store.decisions.all()
    entry, state = entry_of(entries, number), standing(entries)[number]
    return {**entry, "standing": state, "stale": Watch(house).changes(entry, state)}


def record_json(house: House, number: int) -> str:
    """The entry as its hash was taken, handles included, with `names`: who they stand for, outside the hash. Raises NotFound."""
    authorize(house, "see")
    entry = entry_of(chain_rows(house), number)
    plain = json.dumps(entry, ensure_ascii=False)
    names = {handle: house.store.names.name_of(handle) or ERASED for handle in sorted(set(HANDLE.findall(plain)))}
    return json.dumps({**entry, "names": names}, ensure_ascii=False, indent=1)


def _day(filters: dict[str, str], name: str) -> date | None:
    text = filters.get(name) or ""
    try:
        return date.fromisoformat(text) if text else None
    except ValueError as error:
        raise InvalidInput({name: "has to be a date such as 2026-11-29."}, hint="The other filters are kept.") from error


def _matches(entry: Entry, filters: dict[str, str], since: date | None, until: date | None) -> bool:
    day, model = entry["noted_at"].date(), str(entry["evidence"]["asked"]["model"])
    words = " ".join((entry["evidence"]["title"], model, entry["owner"], entry["reason"], str(entry["action"]))).casefold()
    wanted = (("verdict", entry["verdict"]), ("owner", entry["owner"]), ("model", model), ("stale", "yes" if entry["stale"] else "no"))
    return (
        all(not filters.get(name) or filters[name] == value for name, value in wanted)
        and (filters.get("q") or "").strip().casefold() in words
        and (since is None or day >= since)
        and (until is None or day <= until)
    )


class Watch:
    """Holds decisions against newer runs; each run's facts are read once."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._runs = house.store.runs.find()
        self._facts: dict[str, dict[str, Any]] = {}

    def changes(self, entry: Entry, state: str) -> list[dict[str, Any]]:
        """What makes the entry stale: {what, was, now, run_id}; empty while nothing does, and for entries that do not hold any more."""
        if state != "in force":
            return []
        details, evidence = entry.get("details") or {}, entry["evidence"]
        then, taken = evidence.get("facts") or {}, evidence["asked"]
        watched = [name for name in details.get("stale_when", list(STALE_WHEN)) if then.get(name) is not None]
        found: dict[str, dict[str, Any]] = {}
        compared: set[str] = set()
        for run in self._newer(entry):
            if compared.issuperset(watched):
                break
            told = changes(then, self._facts_of(run["run_id"]), watched, taken, run["request"])
            for name, value in told.items():
                if name not in compared and value != then[name]:
                    found[name] = {"what": name, "was": then[name], "now": value, "run_id": run["run_id"]}
                compared.add(name)
        age = too_old(entry["noted_at"], self._house.clock.now(), details["age_days"]) if "age_days" in details else ""
        old = [{"what": "age", "was": None, "now": age, "run_id": None}] if age else []
        return [found[name] for name in watched if name in found] + old

    def _newer(self, entry: Entry) -> list[dict[str, Any]]:
        """Runs asked for after the decision on its model and box, newest first: the newest word on a fact is the one that counts."""
        asked = entry["evidence"]["asked"]
        return [
            run
            for run in self._runs
            if run["created_at"] > entry["noted_at"]
            and run["box_id"] == asked.get("box_id")
            and run["request"]["model"] == asked.get("model")
        ]

    def _facts_of(self, run_id: str) -> dict[str, Any]:
        if run_id not in self._facts:
            self._facts[run_id] = run_facts(self._house, run_id)
        return self._facts[run_id]


def recheck(house: House, number: int, *, who: str, worksheet_id: str) -> str:
    """Opens a worksheet that asks the decision's question again, pre-filled; returns its id. Raises NotFound, InvalidInput (name)."""
    authorize(house, "work.propose", worksheet_id, signed=who)
    entry = entry_of(house.store.decisions.all(), number)
    asked = entry["evidence"]["asked"]
    if asked.get("reference"):
        return propose_from_reference(house, asked["reference"], who=who, worksheet_id=worksheet_id)
    title = f"Re-check of entry {number}: {entry['evidence']['title']}"[:200]
    return propose(house, {**asked, "title": title, "cloned_from": entry["worksheet_id"]}, who=who, worksheet_id=worksheet_id)


def decided_arm(entry: Entry) -> tuple[str, int, int] | None:
    """(run id, n_max, c) of the candidate's cell that decided: at the production concurrency where it was measured; None without a run."""
    run_id, side = entry["evidence"].get("run_id"), entry["evidence"]["candidate"]
    cell = side["production"] or side["single"]
    return (run_id, cell["n_max"], cell["c"]) if run_id and cell else None


def summary_of(entry: Entry) -> dict[str, Any]:
    """What the ledger shows of an entry, from its frozen evidence: {title, model, n_max, cells, losing, price, deltas, old_deltas}."""
    evidence, details = entry["evidence"], entry.get("details") or {}
    cells = []
    for at in ("single", "production"):
        base, cand = evidence["baseline"][at], evidence["candidate"][at]
        if base and cand and not (at == "production" and base["c"] == 1):
            cells += [_shown(evidence, one, base) for one in (base, cand)]
    old = details.get("old")
    return {
        "title": evidence["title"],
        "model": evidence["asked"]["model"],
        "n_max": evidence["candidate"]["n_max"],
        "cells": cells,
        "steps": [_shown(evidence, cell, evidence["steps"].get("0")) for _, cell in sorted(_steps(evidence).items())],
        "losing": [_shown(evidence, cell, evidence["steps"].get("0")) for cell in losing_cells(evidence)],
        "price": next((cell for cell in reversed(cells) if cell["n_max"]), None),
        "deltas": deltas_of(evidence),
        "old": old,
        "old_deltas": deltas_against_old(old, evidence) if old else [],
        "is_withdrawal": entry["verdict"] == WITHDRAWN,
    }


def _steps(evidence: dict[str, Any]) -> dict[int, dict[str, Any]]:
    return {int(n): cell for n, cell in evidence["steps"].items()}


def _shown(evidence: dict[str, Any], cell: dict[str, Any], base: dict[str, Any] | None) -> dict[str, Any]:
    """A frozen cell in the form of the matrix, with its n_max and c."""
    is_published = evidence.get("provenance") == TRANSCRIBED
    shown = published_cell(cell, base) if is_published else measured_cell(cell, base)
    return {**shown, "n_max": cell["n_max"], "c": cell["c"]}
