"""The chain of decisions as it is kept: rows, the journal beside them, what a crash left between, and when nothing may be added."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Any

from core.domain.chain import entries_in, first_broken, verified
from core.errors import DecisionRefused
from core.services.access import authorize
from core.services.house import House

ONE_AT_A_TIME = threading.Lock()


def chain_rows(house: House) -> list[dict[str, Any]]:
    """The stored rows in the form their hashes were taken over."""
    authorize(house, "see")
    return [_as_chained(entry) for entry in house.store.decisions.chain()]


def chain_problem(house: House) -> int | None:
    """Number of the first ledger entry that does not fit its chain; None when all do."""
    authorize(house, "see")
    return first_broken(chain_rows(house))


def refuse_where_broken(house: House) -> None:
    """Raises DecisionRefused where rows and journal do not hold: nothing is added to a chain that was tampered with."""
    authorize(house, "see")
    rows, lines = chain_rows(house), house.archive.decision_lines()
    found = verified(rows, entries_in(lines or []), None)
    if rows and not found["ok"]:
        raise DecisionRefused(
            f"The chain of decisions is broken: {found['why']}. Nothing was signed, and nothing can be until it is mended.",
            hint="Ask an admin: restore a backup, or put decisions.jsonl back (docs/store.md). The ledger can be read as ever.",
        )


def _as_chained(entry: dict[str, Any]) -> dict[str, Any]:
    left_out = ("noted_at", "details") if entry.get("details") is None else ("noted_at",)
    bare = {key: value for key, value in entry.items() if key not in left_out}
    return {**bare, "at": entry["noted_at"].astimezone(UTC).isoformat()}


def signed_only(house: House) -> list[dict[str, Any]]:
    """What a crash left signed in the journal and not in the store; only entries that follow the store's own head."""
    authorize(house, "see")
    rows, found = chain_rows(house), []
    for entry in entries_in(house.archive.decision_lines() or []):
        if entry["number"] == len(rows) + 1 and first_broken([*rows, entry]) is None:
            found.append(entry)
            rows.append(entry)
    return found


def adopt_signed(house: House) -> list[int]:
    """Takes those entries into the store, as the next signature would; their numbers. Nothing is signed by it."""
    authorize(house, "house.keep", "signed decisions")
    with ONE_AT_A_TIME:
        return adopt_journal(house)


def adopt_journal(house: House) -> list[int]:
    """The same for whoever holds the lock."""
    authorize(house, "decision.take", "signed decisions")
    found = signed_only(house)
    for entry in found:
        append_entry(house, entry)
    return [entry["number"] for entry in found]


def append_entry(house: House, entry: dict[str, Any]) -> None:
    """The row of a signed entry. The caller holds the lock, and what the entry says is in the journal already."""
    authorize(house, "decision.take", "signed decisions")
    house.store.decisions.append({**entry, "noted_at": datetime.fromisoformat(entry["at"])})
