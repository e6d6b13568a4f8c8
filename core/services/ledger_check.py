"""Proves or disproves the ledger: rows against their hashes, decisions.jsonl, kept snapshots, any witness, and the audit log they saw."""

from __future__ import annotations

from typing import Any

from core.domain.audit import audit_heads_in, problem_with
from core.domain.chain import entries_in, heads_in, verified
from core.domain.recipe import canonical
from core.errors import InvalidInput
from core.services.access import authorize
from core.services.decision_chain import chain_rows
from core.services.house import House


def verify_ledger(house: House, *, witness: str | None = None) -> dict[str, Any]:
    """{ok, entries, first_bad, why, head, proves}. `witness`: text of anything that saw the chain.

    Raises InvalidInput where no head is in it.

    The journal is compared whenever it is there; decisions without it and without a witness are not ok.
    """
    authorize(house, "see")
    heads = None
    if witness is not None:
        heads = heads_in(witness)
        if not heads:
            raise InvalidInput(
                {"witness": "holds no entry of the ledger and no head of its chain."},
                hint="A witness: a copy of decisions.jsonl, a run's spec.json or events.jsonl, an export's manifest, a list of hashes.",
            )
    rows, lines = chain_rows(house), house.archive.decision_lines()
    found = verified(rows, None if lines is None else entries_in(lines), heads)
    found = {**found, **_snapshots(house, rows)} if found["ok"] else found
    return {**found, **_audit(house, rows, audit_heads_in(witness or ""))} if found["ok"] else found


def _audit(house: House, rows: list[dict[str, Any]], seen: set[str]) -> dict[str, Any]:
    """The audit log is a chain of its own, and every decision names its head."""
    number, why = problem_with(house.store.audit.all(), rows, seen)
    return {"ok": False, "first_bad": number, "why": why} if why else {}


def _snapshots(house: House, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Kept evidence that differs from the entry's, or is gone. Entries from before snapshots were kept have none."""
    for row in rows:
        kept = house.archive.snapshot(row["evidence_sha256"])
        if "details" in row and kept != canonical(row["evidence"]):
            gone = "is missing" if kept is None else "was changed"
            return {"ok": False, "first_bad": row["number"], "why": f"the kept evidence of entry {row['number']} {gone}"}
    return {}
