"""Puts the shipped published figures into the store; their provenance is `transcribed`, always."""

from __future__ import annotations

import csv
import hashlib
import io
from typing import Any

from core.domain.published import row_of, shown_row
from core.services.access import authorize
from core.services.house import House


def seed_reference(house: House, figures: dict[str, Any]) -> None:
    """Takes the content of data/reference/section-e.toml. Repeating it changes nothing."""
    authorize(house, "house.keep")
    source = f"{figures['source']} ({figures['published']})"
    cells = []
    for position, row in enumerate(figures["row"]):
        for cell in row["cells"]:
            cells.append(
                {
                    "source": source,
                    "row_key": row["key"],
                    "position": position,
                    "model": row["model"],
                    "is_moe": row["is_moe"],
                    "spill_label": row["spill_label"],
                    "spill_layers": row["spill_layers"],
                    "n_max": cell["n_max"],
                    "tok_per_s": cell["tok_s"],
                    "accept_share": cell.get("accept_share"),
                    "accept_denominator": cell.get("accept_denominator"),
                    "speedup_published": cell.get("speedup_published"),
                    "note": cell.get("note", ""),
                }
            )
    house.store.published.replace(source, cells, figures["remark"])


def seed_public_results(house: House, text: bytes) -> None:
    """Takes the content of data/reference/public-results.csv. The same content a second time changes nothing."""
    authorize(house, "house.keep")
    sha256 = hashlib.sha256(text).hexdigest()
    if house.store.published.has_results(sha256):
        return
    lines = csv.DictReader(io.StringIO(text.decode("utf-8"), newline=""))
    house.store.published.load_results(sha256, [row_of(line, place) for place, line in enumerate(lines)], house.clock.now())


def published_elsewhere(
    house: House, *, model: str | None = None, placement: str | None = None, draft_kind: str | None = None
) -> list[dict[str, Any]]:
    """Results published elsewhere in the form of the API, first-hand ones first. They stand apart from every cell of the lab."""
    authorize(house, "see")
    wanted = {"placement": placement, "draft_kind": draft_kind}
    rows = [shown_row(row) for row in house.store.published.results(model=model)]
    rows = [row for row in rows if all(value is None or row[name] == value for name, value in wanted.items())]
    return sorted(rows, key=lambda row: row["second_hand"])
