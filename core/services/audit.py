"""The audit log, for admins: refused acts, role changes, pinned keys, exports, token use, each line chained to the one before."""

from __future__ import annotations

from typing import Any

from core.domain.audit import first_broken_line
from core.services.access import authorize
from core.services.house import House


def list_audit(house: House, *, limit: int = 500) -> list[dict[str, Any]]:
    """Lines, newest first: {number, noted_at, actor, name, via, action, object, outcome, detail}."""
    authorize(house, "audit.see")
    return house.store.audit.newest(limit)


def broken_audit_line(house: House) -> int | None:
    """Number of the first line that was changed or is missing; None when the chain holds."""
    authorize(house, "audit.see")
    return first_broken_line(house.store.audit.all())
