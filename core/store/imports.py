"""Rows of imported files and their cells, and of the readings of kept logs."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from core.ports.names import Names
from core.ports.store import ImportRows, Row
from core.store.database import Database

_FILE = ("sha256", "name", "bytes", "stored_as", "kind", "reading", "warnings", "imported_by", "noted_at", "provenance")
_CELL = (
    "sha256", "position", "model", "build", "settings", "context", "workload", "placement", "n_max", "c", "tok_per_s", "tok_per_s_min",
    "tok_per_s_max", "n", "accept_share", "accept_denominator", "a", "d_ms", "verdict", "basis",
)  # fmt: skip
_INSERT_CELL = "INSERT INTO imported_cells ({}) VALUES ({})".format(  # noqa: S608 (names from the closed list above)
    ", ".join(_CELL), ", ".join("?" * len(_CELL))
)


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


class DuckImports(ImportRows):
    """Imports in DuckDB."""

    def __init__(self, database: Database, names: Names) -> None:
        self._db = database
        self._names = names

    def insert(self, file: Row, cells: list[Row]) -> bool:
        file = {**file, "imported_by": self._names.handle_of("", file["imported_by"])}
        values = [_json(file[name]) if name in ("reading", "warnings") else file[name] for name in _FILE]
        with self._db.tx() as cursor:
            if cursor.execute("SELECT 1 FROM imported_files WHERE sha256 = ?", [file["sha256"]]).fetchone():
                return False
            cursor.execute("INSERT INTO imported_files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
            for position, cell in enumerate(cells):
                row = {**cell, "sha256": file["sha256"], "position": position, "placement": _json(cell["placement"])}
                cursor.execute(_INSERT_CELL, [row[name] for name in _CELL])
        return True

    def get(self, sha256: str) -> Row | None:
        rows = self._db.rows("SELECT * FROM imported_files WHERE sha256 = ?", [sha256])
        return {**rows[0], **{name: json.loads(str(rows[0][name])) for name in ("reading", "warnings")}} if rows else None

    def files(self) -> list[Row]:
        rows = self._db.rows(
            """SELECT f.* EXCLUDE (reading), count(c.position) AS cells FROM imported_files f LEFT JOIN imported_cells c USING (sha256)
               GROUP BY ALL ORDER BY f.noted_at DESC, f.sha256"""
        )
        return [{**row, "warnings": json.loads(str(row["warnings"]))} for row in rows]

    def cells(self, *, model: str | None = None, sha256: str | None = None) -> list[Row]:
        rows = self._db.rows(
            """SELECT c.*, f.name AS file, f.kind, f.noted_at FROM imported_cells c JOIN imported_files f USING (sha256)
               WHERE (?::VARCHAR IS NULL OR c.model = ?) AND (?::VARCHAR IS NULL OR c.sha256 = ?)
               ORDER BY f.noted_at DESC, c.sha256, c.position""",
            [model, model, sha256, sha256],
        )
        return [{**row, "placement": json.loads(str(row["placement"]))} for row in rows]

    def keep_reading(self, sha256: str, reader: str, body: dict[str, Any], at: datetime) -> None:
        with self._db.tx() as cursor:
            cursor.execute("INSERT OR IGNORE INTO log_readings VALUES (?, ?, ?, ?)", [sha256, reader, _json(body), at])

    def reading(self, sha256: str, reader: str) -> dict[str, Any] | None:
        rows = self._db.rows("SELECT body FROM log_readings WHERE sha256 = ? AND reader = ?", [sha256, reader])
        return json.loads(str(rows[0]["body"])) if rows else None
