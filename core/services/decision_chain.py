"""The stored decisions as a chain: in the form their hashes were taken over, whether they fit, and no further one while they do not."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from core.domain.chain import entries_in, first_broken, verified
from core.errors import DecisionRefused
from core.services.access import authorize
from core.services.house import House


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
