"""Rows of the decision ledger."""

from __future__ import annotations

import json

from core.domain.handles import ERASED, HANDLE
from core.errors import StoreError
from core.ports.names import Names
from core.ports.store import DecisionRows, Row
from core.store.database import Database

_COLUMNS = (
    "number", "worksheet_id", "verdict", "action", "owner", "reason", "noted_at", "evidence", "evidence_sha256", "prev", "sha", "details",
)  # fmt: skip
_JSON = ("evidence", "details")


class DuckDecisions(DecisionRows):
    """Decisions in DuckDB; the same lines stand in decisions.jsonl. People stand in them by their handles."""

    def __init__(self, database: Database, names: Names) -> None:
        self._db = database
        self._names = names

    def append(self, entry: Row) -> None:
        with self._db.tx() as cursor:
            last = cursor.execute("SELECT coalesce(max(number), 0) FROM decisions").fetchone()
            if entry["number"] != (last[0] if last else 0) + 1:
                raise StoreError("Somebody decided at the same moment. Nothing was recorded.", hint="Look at the ledger, then sign again.")
            values = [_stored(name, entry.get(name)) for name in _COLUMNS]
            cursor.execute("INSERT INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)

    def chain(self) -> list[Row]:
        return [_read(row) for row in self._db.rows("SELECT * FROM decisions ORDER BY number")]

    def all(self) -> list[Row]:
        rows = self._db.rows("SELECT * FROM decisions ORDER BY number")
        return [_read({name: self._named(value, is_json=name in _JSON) for name, value in row.items()}) for row in rows]

    def _named(self, value: object, *, is_json: bool) -> object:
        """A column with names in the place of handles; inside JSON a name is written as JSON has it."""
        if not isinstance(value, str):
            return value

        def name_of(handle: str) -> str:
            name = self._names.name_of(handle) or ERASED
            return json.dumps(name)[1:-1] if is_json else name

        return HANDLE.sub(lambda found: name_of(found.group()), value)


def _stored(name: str, value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if name in _JSON and value is not None else value


def _read(row: dict[str, object]) -> Row:
    return {**row, **{name: json.loads(str(row[name])) for name in _JSON if row[name] is not None}}
