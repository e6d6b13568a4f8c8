"""Keep or reject: taken once, with its evidence frozen, first into the journal, then into the store."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from core.domain.decision import STALE_WHEN, DecisionForm, chained, first_broken, refuse_unless_possible
from core.domain.forms import checked
from core.domain.matrix import measured_cell
from core.domain.recipe import canonical
from core.errors import DecisionRefused
from core.services.access import authorize
from core.services.evidence import evidence_of
from core.services.house import House
from core.services.worksheets import get_worksheet, show_worksheet

NOT_SHOWN = (
    "One engine build on one box. No other speculation method was tried. Acceptance is an observation:"
    " another head, the head switched off and re-drafted, or another context length were not run."
)


_ONE_AT_A_TIME = threading.Lock()


def decide(house: House, values: dict[str, Any]) -> dict[str, Any]:
    """Records a decision and returns its ledger entry.

    Raises InvalidInput (words), DecisionRefused (gates open, decided already), StoreError (journal).
    """
    authorize(house, "decision.take", str(values.get("worksheet_id", "")), signed=str(values.get("owner", "")))
    form = checked(DecisionForm, values)
    with _ONE_AT_A_TIME:
        worksheet = get_worksheet(house, form.worksheet_id)
        view = show_worksheet(house, form.worksheet_id, owner=form.owner)
        _refuse_second(view)
        refuse_unless_possible(form, view["gates"], view["suggestion"])
        before = house.store.decisions.all()
        entry = chained(len(before) + 1, before[-1]["sha"] if before else "", _body(house, form, worksheet, view))
        house.archive.append_decision(canonical(entry))
        house.store.decisions.append({**entry, "noted_at": datetime.fromisoformat(entry["at"])})
    return entry


def _refuse_second(view: dict[str, Any]) -> None:
    """A decision is final: another look starts from a new proposal."""
    if view["decisions"]:
        taken = view["decisions"][-1]
        raise DecisionRefused(
            f"This worksheet was decided before: {taken['verdict']}, by {taken['owner']} (entry {taken['number']}). Nothing was added.",
            hint="A decision is not edited. Propose the change anew to look at it again.",
        )


def _body(house: House, form: DecisionForm, worksheet: dict[str, Any], view: dict[str, Any]) -> dict[str, Any]:
    evidence = asdict(evidence_of(house, worksheet, owner=form.owner))
    evidence["typed"] = {f"{field}.{side}": entry for (field, side), entry in evidence["typed"].items()}
    frozen = {
        **evidence,
        "title": worksheet["title"],
        "fields": view["fields"],
        "gates": view["gates"],
        "suggestion": view["suggestion"],
        "not_shown": NOT_SHOWN,
        "stale_when": list(STALE_WHEN),
        "app_version": house.version,
    }
    return {
        "worksheet_id": form.worksheet_id,
        "verdict": form.verdict,
        "action": view["suggestion"]["action"] or "not priced",
        "owner": form.owner,
        "reason": " · ".join(text for text in (form.reason, form.against_why) if text),
        "at": house.clock.now().astimezone(UTC).isoformat(),
        "evidence": json.loads(json.dumps(frozen, default=str)),
    }


def list_decisions(house: House) -> list[dict[str, Any]]:
    """The ledger, newest first."""
    authorize(house, "see")
    return list(reversed(house.store.decisions.all()))


def summary_of(entry: dict[str, Any]) -> dict[str, Any]:
    """What the ledger shows in one line, from the frozen evidence: {title, model, n_max, cells: [figure with n_max and c]}."""
    evidence = entry["evidence"]
    cells = []
    for at in ("single", "production"):
        base, cand = evidence["baseline"][at], evidence["candidate"][at]
        if base and cand and not (at == "production" and base["c"] == 1):
            cells += [{**measured_cell(one, base), "n_max": one["n_max"], "c": one["c"]} for one in (base, cand)]
    return {
        "title": evidence["title"],
        "model": evidence["asked"]["model"],
        "n_max": evidence["candidate"]["n_max"],
        "cells": cells,
        "price": next((cell for cell in reversed(cells) if cell["n_max"]), None),
    }


def chain_problem(house: House) -> int | None:
    """Number of the first ledger entry that does not fit its chain; None when all do."""
    authorize(house, "see")
    return first_broken([_as_chained(entry) for entry in house.store.decisions.all()])


def _as_chained(entry: dict[str, Any]) -> dict[str, Any]:
    """The stored row in the form its hash was taken over."""
    bare = {key: value for key, value in entry.items() if key != "noted_at"}
    return {**bare, "at": entry["noted_at"].astimezone(UTC).isoformat()}
