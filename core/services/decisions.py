"""Keep or reject: taken once, with its evidence frozen, first into the journal, then into the store."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from core.domain.decision import STALE_WHEN, DecisionForm, chained, first_broken, refuse_unless_possible
from core.domain.forms import checked
from core.domain.recipe import canonical
from core.services.house import House
from core.services.worksheets import evidence_of, get_worksheet, show_worksheet

NOT_SHOWN = (
    "One engine build on one box. No other speculation method was tried. Acceptance is an observation:"
    " another head, the head switched off and re-drafted, or another context length were not run."
)


def decide(house: House, values: dict[str, Any]) -> dict[str, Any]:
    """Records a decision and returns its ledger entry. Raises InvalidInput (words), DecisionRefused (gates), StoreError (journal)."""
    form = checked(DecisionForm, values)
    worksheet = get_worksheet(house, form.worksheet_id)
    view = show_worksheet(house, form.worksheet_id, owner=form.owner)
    refuse_unless_possible(form, view["gates"], view["suggestion"])
    before = house.store.decisions.all()
    entry = chained(len(before) + 1, before[-1]["sha"] if before else "", _body(house, form, worksheet, view))
    house.archive.append_decision(canonical(entry))
    house.store.decisions.append({**entry, "noted_at": house.clock.now()})
    return entry


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
        "at": house.clock.now().isoformat(),
        "evidence": json.loads(json.dumps(frozen, default=str)),
    }


def list_decisions(house: House) -> list[dict[str, Any]]:
    """The ledger, newest first."""
    return list(reversed(house.store.decisions.all()))


def chain_problem(house: House) -> int | None:
    """Number of the first ledger entry that does not fit its chain; None when all do."""
    entries = [{**{k: v for k, v in entry.items() if k != "noted_at"}, "at": entry["noted_at"]} for entry in house.store.decisions.all()]
    return first_broken(entries)
