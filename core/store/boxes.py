"""Rows of boxes, their changes and their checks."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from core.domain.box import THIS_MACHINE, Box
from core.ports.names import Names
from core.ports.store import BoxRows, Row
from core.store.database import Database


class DuckBoxes(BoxRows):
    """Boxes in DuckDB."""

    def __init__(self, database: Database, names: Names) -> None:
        self._db = database
        self._names = names

    def put(self, box: Box, *, who: str, at: datetime) -> None:
        body, who = box.model_dump_json(), self._names.handle_of("", who)
        with self._db.tx() as cursor:
            known = cursor.execute("SELECT body FROM boxes WHERE box_id = ?", [box.box_id]).fetchone()
            if known and json.loads(known[0]) == json.loads(body):
                return
            cursor.execute("INSERT INTO box_changes VALUES (?, ?, ?, ?)", [box.box_id, at, who, body])
            cursor.execute("DELETE FROM boxes WHERE box_id = ?", [box.box_id])
            cursor.execute("INSERT INTO boxes VALUES (?, ?, ?, ?, ?)", [box.box_id, box.name, body, who, at])

    def all(self) -> list[Box]:
        rows = self._db.rows("SELECT body FROM boxes ORDER BY box_id <> ?, lower(name)", [THIS_MACHINE])
        return [Box.model_validate_json(str(row["body"])) for row in rows]

    def remove(self, box_id: str, *, who: str, at: datetime) -> None:
        values = [box_id, at, self._names.handle_of("", who)]
        with self._db.tx() as cursor:
            cursor.execute("INSERT INTO box_changes VALUES (?, ?, ?, 'null')", values)
            cursor.execute("DELETE FROM boxes WHERE box_id = ?", [box_id])

    def versions(self, box_id: str) -> list[Row]:
        rows = self._db.rows("SELECT who, noted_at, body FROM box_changes WHERE box_id = ? ORDER BY noted_at DESC", [box_id])
        return [{"who": row["who"], "noted_at": row["noted_at"], "box": _box(str(row["body"]))} for row in rows]

    def add_check(self, box_id: str, report: dict[str, Any], *, ok: bool, at: datetime) -> None:
        with self._db.tx() as cursor:
            cursor.execute("INSERT INTO box_checks VALUES (?, ?, ?, ?)", [box_id, at, ok, json.dumps(report)])

    def latest_check(self, box_id: str) -> Row | None:
        rows = self._db.rows("SELECT ok, noted_at, report FROM box_checks WHERE box_id = ? ORDER BY noted_at DESC LIMIT 1", [box_id])
        return {**rows[0], "report": json.loads(str(rows[0]["report"]))} if rows else None


def _box(body: str) -> Box | None:
    return None if body == "null" else Box.model_validate_json(body)
