"""Keep, reject, withdraw: signed once, with its evidence frozen, first into the journal, then into the store."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from typing import Any

from core.domain.chain import chained
from core.domain.decision import (
    FORMULAS,
    WITHDRAWN,
    DecisionForm,
    OldProduction,
    WithdrawForm,
    action_of,
    in_force,
    is_against,
    refuse_unless_possible,
    signed_text,
    standing,
    text_sha256,
)
from core.domain.forms import checked
from core.domain.handles import with_handles, with_names
from core.domain.recipe import canonical, digest
from core.domain.reference_sheet import price_for
from core.errors import DecisionRefused, NotFound
from core.services.access import authorize, record
from core.services.decision_chain import ONE_AT_A_TIME, adopt_journal, append_entry, refuse_where_broken
from core.services.evidence import evidence_of
from core.services.frozen import cell_conditions, freeze, unfit_for_keep
from core.services.house import House
from core.services.receipts import receipt
from core.services.worksheets import get_worksheet


@dataclass(frozen=True)
class Draft:
    """A decision as it would be signed now: the canonical text with its hash, and everything the entry will hold."""

    text: str
    sha256: str
    body: dict[str, Any]
    gates: list[dict[str, Any]]
    suggestion: dict[str, Any]
    unfit: list[str]
    is_against: bool


def draft_decision(house: House, values: dict[str, Any]) -> Draft:
    """What would be signed with these words. Raises InvalidInput (words), DecisionRefused (gates, unfit figures), NotFound."""
    authorize(house, "see")
    form = checked(DecisionForm, values)
    draft = _draft(house, form)
    _refuse(house, form, draft)
    return draft


def decide(house: House, values: dict[str, Any]) -> dict[str, Any]:
    """Records a decision and returns its ledger entry; the same `sign_id` a second time returns the entry that is there.

    Raises InvalidInput (words), DecisionRefused (gates, unfit figures, changed since it was shown), NotFound, StoreError (journal),
    NotAllowed.
    """
    authorize(house, "decision.take", str(values.get("worksheet_id", "")), signed=str(values.get("owner", "")))
    form = checked(DecisionForm, values)
    with ONE_AT_A_TIME:
        adopt_journal(house)
        done = _signed_before(house, form.sign_id)
        if done:
            return done
        refuse_where_broken(house)
        draft = _draft(house, form)
        if form.seen_sha256 and form.seen_sha256 != draft.sha256:
            raise DecisionRefused(
                "The worksheet, or what you typed, has changed since this text was shown. Nothing was signed.",
                hint="Read what would be signed now, then sign again.",
            )
        _refuse(house, form, draft)
        entry = _record(house, draft.body)
    _note(house, entry, draft)
    return entry


def _note(house: House, entry: dict[str, Any], draft: Draft) -> None:
    """The audit log's lines: that it was taken, and where it goes against what was computed."""
    thing = f"entry {entry['number']}"
    record(house, "decision.take", thing, verdict=entry["verdict"], taken=entry["action"], sha=entry["sha"])
    if draft.is_against:
        record(house, "decision.override", thing, suggested=draft.suggestion["action"], taken=entry["action"], sha=entry["sha"])


def _refuse(house: House, form: DecisionForm, draft: Draft) -> None:
    refuse_unless_possible(form, draft.gates, draft.suggestion, unfit=draft.unfit, needs_second=house.second_person)


def withdraw(house: House, values: dict[str, Any]) -> dict[str, Any]:
    """Takes a decision back by a new entry; the old one stays.

    Raises InvalidInput, NotFound, DecisionRefused (not in force), NotAllowed.
    """
    authorize(house, "decision.take", f"entry {values.get('number')}", signed=str(values.get("owner", "")))
    form = checked(WithdrawForm, values)
    with ONE_AT_A_TIME:
        adopt_journal(house)
        done = _signed_before(house, form.sign_id)
        if done:
            return done
        refuse_where_broken(house)
        entries = house.store.decisions.all()
        entry_of(entries, form.number)
        state = standing(entries)[form.number]
        if state != "in force":
            raise DecisionRefused(
                f"Entry {form.number} is {state}; there is nothing to withdraw. Nothing was added.", hint="Look at the ledger."
            )
        taken = entry_of(house.store.decisions.chain(), form.number)
        body = {
            "worksheet_id": taken["worksheet_id"],
            "verdict": WITHDRAWN,
            "action": taken["action"],
            "owner": _handle_in(house, form, form.owner),
            "reason": form.reason,
            "details": {**_shared_details(house, form.sign_id), "supersedes": form.number},
            "evidence": taken["evidence"],
        }
        entry = _record(house, body)
    record(house, "decision.withdraw", f"entry {form.number}", by_entry=entry["number"], sha=entry["sha"])
    return entry


def entry_of(entries: list[dict[str, Any]], number: int) -> dict[str, Any]:
    """The entry of that number; raises NotFound."""
    found = next((entry for entry in entries if entry["number"] == number), None)
    if found is None:
        raise NotFound("ledger entry", str(number), [f"1 to {len(entries)}"] if entries else [])
    return found


def revision_of(house: House, worksheet_id: str) -> int:
    """Number of the last value typed into the worksheet: its revision; 0 before the first."""
    authorize(house, "see", worksheet_id)
    return max((entry["entry"] for entry in house.store.worksheets.entries(worksheet_id)), default=0)


def _draft(house: House, form: DecisionForm) -> Draft:
    worksheet = get_worksheet(house, form.worksheet_id)
    evidence = evidence_of(house, worksheet, owner=form.owner)
    # Whoever reads the draft, its hash is the one that the owner signs: in the evidence everybody is only named.
    frozen = with_handles(freeze(house, worksheet, evidence), lambda name: house.store.names.handle_of("", name))
    price = price_for(evidence)
    gates, suggestion = frozen["gates"], frozen["suggestion"]
    earlier = in_force(house.store.decisions.all(), form.worksheet_id)
    details = {
        "supersedes": earlier["number"] if earlier else None,
        "n_max": suggestion["n_max"],
        "dominant": price.dominant if price else None,
        "on_behalf_of": form.on_behalf_of,
        "against_why": form.against_why,
        "second": form.second,
        "stale_when": list(form.stale_when),
        "age_days": form.age_days,
        "old": _old_production(house, form.old),
        "revision": revision_of(house, form.worksheet_id),
    }
    body = {
        "worksheet_id": form.worksheet_id,
        "verdict": form.verdict,
        "action": action_of(form, gates, suggestion),
        "owner": form.owner,
        "reason": form.reason,
    }
    text = signed_text(_parts(body, details, frozen))
    signed = {**details, **_shared_details(house, form.sign_id), "signed_sha256": text_sha256(text)}
    return Draft(
        text,
        signed["signed_sha256"],
        {**with_handles({**body, "details": signed}, lambda name: _handle_in(house, form, name)), "evidence": frozen},
        gates,
        suggestion,
        unfit_for_keep(evidence, cell_conditions(house, evidence)),
        is_against(form.verdict, suggestion, form.action),
    )


def _parts(body: dict[str, Any], details: dict[str, Any], frozen: dict[str, Any]) -> dict[str, Any]:
    still = [f"{gate['label']} ({gate['state']})" for gate in frozen["gates"] if gate["state"] != "pass"]
    return {
        "worksheet": body["worksheet_id"],
        "title": frozen["title"],
        "revision": details["revision"],
        "verdict": body["verdict"],
        "action": body["action"],
        "winning n_max": details["n_max"],
        "dominant cost": details["dominant"],
        "suggested": frozen["suggestion"]["action"],
        "owner": body["owner"],
        "on behalf of": details["on_behalf_of"],
        "reason": body["reason"],
        "against, because": details["against_why"],
        "second person": details["second"],
        "supersedes entry": details["supersedes"],
        "stale when": details["stale_when"],
        "age limit, days": details["age_days"],
        "old production": details["old"],
        "run": frozen["run_id"],
        "gates open": still,
        "evidence sha256": digest(frozen),
        "formulas": FORMULAS,
    }


def _old_production(house: House, old: OldProduction | None) -> dict[str, Any] | None:
    """The old recipe with its figures: those of the named cell, else as typed. Raises NotFound for a cell that is none."""
    if old is None:
        return None
    if not old.cell_id:
        return {**old.model_dump(), "provenance": "typed"}
    cell = receipt(house, old.cell_id)["cell"]
    low, high = (cell[name] if cell[name] is not None else cell["tok_s"] for name in ("tok_s_min", "tok_s_max"))
    return {**old.model_dump(), "tok_s_min": low, "tok_s_max": high, "provenance": cell["provenance"]}


def _shared_details(house: House, sign_id: str) -> dict[str, Any]:
    number, sha = house.store.audit.head()
    return {
        "sign_id": sign_id,
        "identity": _identity(house),
        "audit_line": number,
        "audit_head": sha,
        "formulas": FORMULAS,
        "app_version": house.version,
    }


def _identity(house: House) -> str:
    """What vouches for the owner of a decision taken now: the sign-in, a token, or nobody but this computer."""
    actor = house.actor
    return "token" if actor.key.startswith("token:") else "signed in" if actor.is_named else "local identity"


def _handle_in(house: House, form: DecisionForm | WithdrawForm, name: str) -> str:
    """The handle of a name in a decision: the owner's is that of who is signed in, issuer and subject; others were only named."""
    return house.store.names.handle_of(house.actor.key if name == form.owner else "", name)


def _signed_before(house: House, sign_id: str) -> dict[str, Any] | None:
    if not sign_id:
        return None
    return next((one for one in house.store.decisions.all() if (one["details"] or {}).get("sign_id") == sign_id), None)


def _record(house: House, body: dict[str, Any]) -> dict[str, Any]:
    """Snapshot, journal, row, in this order: what the row says is on disk before it. Handles stand in it, names in the answer."""
    before = house.store.decisions.chain()
    signed = {**body, "at": house.clock.now().astimezone(UTC).isoformat()}
    entry = chained(len(before) + 1, before[-1]["sha"] if before else "", signed)
    house.archive.keep_snapshot(entry["evidence_sha256"], canonical(entry["evidence"]))
    house.archive.append_decision(canonical(entry))
    append_entry(house, entry)
    return dict(with_names(entry, house.store.names.name_of))


def list_decisions(house: House) -> list[dict[str, Any]]:
    """The ledger, newest first."""
    authorize(house, "see")
    return list(reversed(house.store.decisions.all()))
