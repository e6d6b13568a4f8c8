"""Rows of transcribed figures."""

from __future__ import annotations

import json

from core.ports.store import PublishedRows, Row
from core.store.database import Database

_COLUMNS = (
    "source", "row_key", "position", "model", "is_moe", "spill_label", "spill_layers", "n_max", "tok_per_s", "accept_share",
    "accept_denominator", "speedup_published", "note",
)  # fmt: skip


class DuckPublished(PublishedRows):
    """Published figures in DuckDB."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def replace(self, source: str, cells: list[Row], remarks: list[Row]) -> None:
        with self._db.tx() as cursor:
            cursor.execute("DELETE FROM published_cells WHERE source = ?", [source])
            cursor.execute("DELETE FROM published_remarks WHERE source = ?", [source])
            for cell in cells:
                cursor.execute(
                    "INSERT INTO published_cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", [cell[name] for name in _COLUMNS]
                )
            for position, remark in enumerate(remarks):
                cursor.execute(
                    "INSERT INTO published_remarks VALUES (?, ?, ?, ?)", [source, remark["section"], position, json.dumps(remark)]
                )

    def cells(self, model: str | None = None) -> list[Row]:
        return self._db.rows(
            "SELECT * FROM published_cells WHERE ?::VARCHAR IS NULL OR model = ? ORDER BY source, position, n_max", [model, model]
        )

    def remarks(self) -> list[Row]:
        rows = self._db.rows("SELECT source, section, body FROM published_remarks ORDER BY source, position")
        return [{**row, "body": json.loads(str(row["body"]))} for row in rows]
