"""Rows of people, tokens and the audit log."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from core.domain.audit import linked
from core.ports.doors import AuditRows, PeopleRows, Row, TokenRows
from core.store.database import Database

_LINE = ("number", "noted_at", "actor", "name", "via", "action", "object", "outcome", "detail", "prev", "sha")


class DuckPeople(PeopleRows):
    """People in DuckDB."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def put(self, row: Row) -> None:
        with self._db.tx() as cursor:
            last = cursor.execute("SELECT coalesce(max(entry), 0) FROM people WHERE key = ?", [row["key"]]).fetchone()
            values = [row["key"], (last[0] if last else 0) + 1, *(row[name] for name in ("name", "role", "is_disabled", "who", "noted_at"))]
            cursor.execute("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?, ?)", values)

    def get(self, key: str) -> Row | None:
        rows = self._db.rows("SELECT * EXCLUDE entry FROM people WHERE key = ? ORDER BY entry DESC LIMIT 1", [key])
        return rows[0] if rows else None

    def all(self) -> list[Row]:
        return self._db.rows(
            "SELECT * EXCLUDE entry FROM people QUALIFY row_number() OVER (PARTITION BY key ORDER BY entry DESC) = 1"
            " ORDER BY lower(name), key"
        )


class DuckTokens(TokenRows):
    """Tokens in DuckDB."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, row: Row) -> None:
        names = ("token_id", "name", "role", "sha256", "made_by", "made_at", "expires_at")
        with self._db.tx() as cursor:
            cursor.execute("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?)", [row[name] for name in names])

    def end(self, token_id: str, *, who: str, at: datetime) -> None:
        with self._db.tx() as cursor:
            cursor.execute("INSERT INTO token_ends VALUES (?, ?, ?) ON CONFLICT DO NOTHING", [token_id, who, at])

    def get(self, token_id: str) -> Row | None:
        return next((row for row in self.all() if row["token_id"] == token_id), None)

    def all(self) -> list[Row]:
        return self._db.rows(
            "SELECT t.*, e.who AS revoked_by, e.noted_at AS revoked_at FROM tokens t LEFT JOIN token_ends e USING (token_id)"
            " ORDER BY made_at DESC, token_id"
        )


class DuckAudit(AuditRows):
    """The audit log in DuckDB."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def append(self, body: Row) -> Row:
        with self._db.tx() as cursor:
            last = cursor.execute("SELECT number, sha FROM audit ORDER BY number DESC LIMIT 1").fetchone()
            line = linked(last[0] + 1 if last else 1, last[1] if last else "", body)
            values = [json.dumps(line[name]) if name == "detail" else line[name] for name in _LINE]
            cursor.execute("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        return line

    def newest(self, limit: int = 500) -> list[Row]:
        return [_line(row) for row in self._db.rows("SELECT * FROM audit ORDER BY number DESC LIMIT ?", [limit])]

    def all(self) -> list[Row]:
        return [_line(row) for row in self._db.rows("SELECT * FROM audit ORDER BY number")]


def _line(row: dict[str, Any]) -> Row:
    return {**row, "detail": json.loads(str(row["detail"]))}
