"""Rows of worksheets and typed values."""

from __future__ import annotations

import json

from core.ports.store import Row, WorksheetRows
from core.store.database import Database


class DuckWorksheets(WorksheetRows):
    """Worksheets in DuckDB."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def insert(self, row: Row) -> None:
        with self._db.tx() as cursor:
            values = [row["worksheet_id"], row["title"], json.dumps(row["body"]), row["created_by"], row["created_at"]]
            cursor.execute("INSERT INTO worksheets VALUES (?, ?, ?, ?, ?)", values)

    def get(self, worksheet_id: str) -> Row | None:
        rows = self._db.rows("SELECT * FROM worksheets WHERE worksheet_id = ?", [worksheet_id])
        return {**rows[0], "body": json.loads(str(rows[0]["body"]))} if rows else None

    def all(self) -> list[Row]:
        rows = self._db.rows("SELECT * FROM worksheets ORDER BY created_at DESC, worksheet_id")
        return [{**row, "body": json.loads(str(row["body"]))} for row in rows]

    def add_entry(self, row: Row) -> None:
        with self._db.tx() as cursor:
            count = cursor.execute("SELECT count(*) FROM worksheet_entries WHERE worksheet_id = ?", [row["worksheet_id"]]).fetchone()
            number = (count[0] if count else 0) + 1
            values = [
                row["worksheet_id"],
                number,
                row["field"],
                row["side"],
                json.dumps(row["value"]),
                row["note"],
                row["typed_by"],
                row["noted_at"],
            ]
            cursor.execute("INSERT INTO worksheet_entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)

    def entries(self, worksheet_id: str) -> list[Row]:
        rows = self._db.rows("SELECT * FROM worksheet_entries WHERE worksheet_id = ? ORDER BY entry", [worksheet_id])
        return [{**row, "value": json.loads(str(row["value"]))} for row in rows]
