"""Rows of people, tokens and the audit log."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from core.domain.audit import linked
from core.domain.handles import ERASED, HANDLE
from core.ports.doors import AuditRows, PeopleRows, Row, TokenRows
from core.ports.names import Names
from core.store.database import Database

_LINE = ("number", "noted_at", "actor", "name", "via", "action", "object", "outcome", "detail", "prev", "sha")


class DuckPeople(PeopleRows):
    """People in DuckDB, by issuer and subject; their names and whoever gave the role stand there by handle."""

    def __init__(self, database: Database, names: Names) -> None:
        self._db = database
        self._names = names

    def put(self, row: Row) -> None:
        name, who = self._names.handle_of(row["key"], row["name"]), self._names.handle_of("", row["who"])
        with self._db.tx() as cursor:
            last = cursor.execute("SELECT coalesce(max(entry), 0) FROM people WHERE key = ?", [row["key"]]).fetchone()
            values = [row["key"], (last[0] if last else 0) + 1, name, row["role"], row["is_disabled"], who, row["noted_at"]]
            cursor.execute("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?, ?)", values)

    def get(self, key: str) -> Row | None:
        rows = self._db.rows("SELECT * EXCLUDE entry FROM people WHERE key = ? ORDER BY entry DESC LIMIT 1", [key])
        return self._named(rows[0]) if rows else None

    def all(self) -> list[Row]:
        rows = self._db.rows(
            "SELECT * EXCLUDE entry FROM people QUALIFY row_number() OVER (PARTITION BY key ORDER BY entry DESC) = 1 ORDER BY key"
        )
        return sorted(map(self._named, rows), key=lambda row: str(row["name"]).lower())

    def _named(self, row: Row) -> Row:
        return {**row, **{name: shown(self._names, row[name]) for name in ("name", "who")}}


class DuckTokens(TokenRows):
    """Tokens in DuckDB."""

    def __init__(self, database: Database, names: Names) -> None:
        self._db = database
        self._names = names

    def add(self, row: Row) -> None:
        row = {**row, "made_by": self._names.handle_of("", row["made_by"])}
        names = ("token_id", "name", "role", "sha256", "made_by", "made_at", "expires_at")
        with self._db.tx() as cursor:
            cursor.execute("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?)", [row[name] for name in names])

    def end(self, token_id: str, *, who: str, at: datetime) -> None:
        values = [token_id, self._names.handle_of("", who), at]
        with self._db.tx() as cursor:
            cursor.execute("INSERT INTO token_ends VALUES (?, ?, ?) ON CONFLICT DO NOTHING", values)

    def get(self, token_id: str) -> Row | None:
        return next((row for row in self.all() if row["token_id"] == token_id), None)

    def all(self) -> list[Row]:
        return self._db.rows(
            "SELECT t.*, e.who AS revoked_by, e.noted_at AS revoked_at FROM tokens t LEFT JOIN token_ends e USING (token_id)"
            " ORDER BY made_at DESC, token_id"
        )


class DuckAudit(AuditRows):
    """The audit log in DuckDB. Who did it stands there by handle; programs (the app, tokens) by their own key."""

    def __init__(self, database: Database, names: Names) -> None:
        self._db = database
        self._names = names

    def append(self, body: Row) -> Row:
        is_person = body["actor"] not in ("", "app") and not body["actor"].startswith("token:")
        kept = {**body, "actor": self._names.handle_of(body["actor"], body["name"]), "name": ""} if is_person else body
        with self._db.tx() as cursor:
            last = cursor.execute("SELECT number, sha FROM audit ORDER BY number DESC LIMIT 1").fetchone()
            line = linked(last[0] + 1 if last else 1, last[1] if last else "", kept)
            values = [json.dumps(line[name]) if name == "detail" else line[name] for name in _LINE]
            cursor.execute("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        return line

    def newest(self, limit: int = 500) -> list[Row]:
        return [self._named(_line(row)) for row in self._db.rows("SELECT * FROM audit ORDER BY number DESC LIMIT ?", [limit])]

    def head(self) -> tuple[int, str]:
        rows = self._db.rows("SELECT number, sha FROM audit ORDER BY number DESC LIMIT 1")
        return (int(str(rows[0]["number"])), str(rows[0]["sha"])) if rows else (0, "")

    def all(self) -> list[Row]:
        return [_line(row) for row in self._db.rows("SELECT * FROM audit ORDER BY number")]

    def _named(self, line: Row) -> Row:
        if not HANDLE.fullmatch(line["actor"]):
            return line
        known = self._names.find(line["actor"])
        who = {"actor": known.subject, "name": known.name} if known else {"name": ERASED}
        return {**line, **who, "object": HANDLE.sub(lambda found: self._person(found.group()), line["object"])}

    def _person(self, handle: str) -> str:
        """Whom an act was about: issuer and subject, which an admin can tell apart where names are alike."""
        known = self._names.find(handle)
        return (known.subject or known.name) if known else ERASED


def shown(names: Names, text: str) -> str:
    """The text with names in the place of handles."""
    return HANDLE.sub(lambda found: names.name_of(found.group()) or ERASED, text)


def _line(row: dict[str, Any]) -> Row:
    return {**row, "detail": json.loads(str(row["detail"]))}
