"""Worksheets over the published reference rows: to see what the rules say about them. `keep` is refused there, always."""

from __future__ import annotations

from typing import Any

from core.domain.forms import Name, Record, checked
from core.domain.reference_sheet import reference_evidence
from core.domain.revisions import current
from core.domain.worksheet import Evidence
from core.errors import NotFound
from core.services.access import authorize
from core.services.house import House


class _Proposer(Record):
    by: Name


def reference_cells(house: House, row_key: str) -> list[dict[str, Any]]:
    """Published cells of one reference row; raises NotFound with the keys there are."""
    authorize(house, "see")
    cells = house.store.published.cells()
    found = [cell for cell in cells if cell["row_key"] == row_key]
    if not found:
        raise NotFound("reference row", row_key, list(dict.fromkeys(cell["row_key"] for cell in cells)))
    return found


def propose_from_reference(house: House, row_key: str, *, who: str, worksheet_id: str) -> str:
    """Opens a worksheet on a reference row; one that is there already stays. Raises NotFound, InvalidInput (name)."""
    authorize(house, "work.propose", worksheet_id, signed=who)
    who = checked(_Proposer, {"by": who}).by
    cells = reference_cells(house, row_key)
    if house.store.worksheets.get(worksheet_id):
        return worksheet_id
    longest = max(cell["n_max"] for cell in cells)
    body = {
        "title": f"{cells[0]['model']}, {cells[0]['spill_label']} (published)",
        "reference": row_key, "source": cells[0]["source"], "model": cells[0]["model"], "box_id": None, "engine_id": None,
        "workload_id": None, "n_max": longest, "repetitions": 1, "production_c": 1,
    }  # fmt: skip
    row = {"worksheet_id": worksheet_id, "title": body["title"], "body": body, "created_by": who, "created_at": house.clock.now()}
    house.store.worksheets.insert(row)
    return worksheet_id


def evidence_from_reference(house: House, worksheet: dict[str, Any], *, owner: str | None) -> Evidence:
    """Everything published and typed for such a worksheet."""
    authorize(house, "see")
    typed = current(house.store.worksheets.entries(worksheet["worksheet_id"]))
    return reference_evidence(worksheet["body"], reference_cells(house, worksheet["body"]["reference"]), typed, owner)
