"""Puts the shipped published figures into the store; their provenance is `transcribed`, always."""

from __future__ import annotations

from typing import Any

from core.services.house import House


def seed_reference(house: House, figures: dict[str, Any]) -> None:
    """Takes the content of data/reference/section-e.toml. Repeating it changes nothing."""
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
