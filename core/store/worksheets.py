"""Rows of worksheets and typed values."""

from __future__ import annotations

import json

from core.ports.names import Names
from core.ports.store import Row, WorksheetRows
from core.store.database import Database

_NEWEST = """SELECT entry, value FROM worksheet_entries
    WHERE worksheet_id = ? AND field = ? AND side = ? AND NOT coalesce(is_set_aside, false) ORDER BY entry DESC LIMIT 1"""
_INSERT = """INSERT INTO worksheet_entries (worksheet_id, field, side, note, typed_by, noted_at, entry, value, over_entry, is_set_aside)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""


class DuckWorksheets(WorksheetRows):
    """Worksheets in DuckDB."""

    def __init__(self, database: Database, names: Names) -> None:
        self._db = database
        self._names = names

    def insert(self, row: Row) -> None:
        values = [
            row["worksheet_id"],
            row["title"],
            json.dumps(row["body"]),
            self._names.handle_of("", row["created_by"]),
            row["created_at"],
        ]
        with self._db.tx() as cursor:
            cursor.execute("INSERT INTO worksheets VALUES (?, ?, ?, ?, ?)", values)

    def get(self, worksheet_id: str) -> Row | None:
        rows = self._db.rows("SELECT * FROM worksheets WHERE worksheet_id = ?", [worksheet_id])
        return {**rows[0], "body": json.loads(str(rows[0]["body"]))} if rows else None

    def all(self) -> list[Row]:
        rows = self._db.rows("SELECT * FROM worksheets ORDER BY created_at DESC, worksheet_id")
        return [{**row, "body": json.loads(str(row["body"]))} for row in rows]

    def add_entry(self, row: Row, *, over: int | None = None) -> Row:
        kept = {**row, "typed_by": self._names.handle_of("", row["typed_by"])}
        with self._db.tx() as cursor:
            count = cursor.execute("SELECT count(*) FROM worksheet_entries WHERE worksheet_id = ?", [row["worksheet_id"]]).fetchone()
            newest = cursor.execute(_NEWEST, [row["worksheet_id"], row["field"], row["side"]]).fetchone()
            number, standing = (count[0] if count else 0) + 1, newest[0] if newest else 0
            is_set_aside = over is not None and over != standing and json.loads(str(newest[1])) != row["value"] if newest else False
            values = [kept[name] for name in ("worksheet_id", "field", "side", "note", "typed_by", "noted_at")]
            cursor.execute(_INSERT, [*values, number, json.dumps(row["value"]), over, is_set_aside])
        return {**row, "entry": number, "over_entry": over, "is_set_aside": is_set_aside}

    def entries(self, worksheet_id: str) -> list[Row]:
        rows = self._db.rows("SELECT * FROM worksheet_entries WHERE worksheet_id = ? ORDER BY entry", [worksheet_id])
        return [{**row, "value": json.loads(str(row["value"])), "is_set_aside": bool(row["is_set_aside"])} for row in rows]

    def add_comment(self, row: Row) -> None:
        written_by = self._names.handle_of("", row["written_by"])
        with self._db.tx() as cursor:
            count = cursor.execute("SELECT count(*) FROM worksheet_comments WHERE worksheet_id = ?", [row["worksheet_id"]]).fetchone()
            values = [row["worksheet_id"], (count[0] if count else 0) + 1, row["text"], written_by, row["noted_at"]]
            cursor.execute("INSERT INTO worksheet_comments VALUES (?, ?, ?, ?, ?)", values)

    def comments(self, worksheet_id: str) -> list[Row]:
        return self._db.rows("SELECT * FROM worksheet_comments WHERE worksheet_id = ? ORDER BY comment", [worksheet_id])
