"""The accounting table as command line and API both tell it."""

from __future__ import annotations

from typing import Any

from core.services.access import authorize
from core.services.house import House
from core.services.worksheets import show_worksheet


def worksheet_json(house: House, worksheet_id: str) -> dict[str, Any]:
    """The table with a state per field and side, gates with what turns them, suggestion, decisions. Raises NotFound."""
    authorize(house, "see", worksheet_id)
    view = show_worksheet(house, worksheet_id)
    price = view["price"]
    return {
        "worksheet_id": worksheet_id,
        "title": view["worksheet"]["title"],
        "asked": view["worksheet"]["body"],
        "revision": view["revision"],
        "fields": view["fields"],
        "gates": view["gates"],
        "suggestion": {**view["suggestion"], "dominant": price.dominant if price else None},
        "price": price.as_json() if price else None,
        "run_id": view["run_id"],
        "drifted": view["drifted"],
        "decisions": [{name: one[name] for name in ("number", "verdict", "action", "owner", "sha")} for one in view["decisions"]],
    }
