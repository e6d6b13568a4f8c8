"""Every table and view as it is stored, for taking everything along. Reads only; names come from the database's own catalog."""

from __future__ import annotations

from pathlib import Path

from core.errors import NotFound
from core.ports.tables import Row, TableRows
from core.store.database import Database

_KEPT_BACK = ("schema_migrations", "house_cursor", "people", "tokens", "token_ends", "audit")  # bookkeeping, and who may do what


class DuckTables(TableRows):
    """Tables of the main schema, without the store's own bookkeeping, people, tokens and audit log."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def names(self) -> list[str]:
        rows = self._db.rows("SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' ORDER BY table_name")
        return [str(row["table_name"]) for row in rows if row["table_name"] not in _KEPT_BACK]

    def rows(self, name: str) -> list[Row]:
        return self._db.rows("SELECT * FROM query_table(?)", [self._known(name)])

    def to_parquet(self, name: str, path: Path) -> None:
        with self._db.reader() as cursor:
            cursor.execute("COPY (SELECT * FROM query_table(?)) TO ? (FORMAT parquet)", [self._known(name), str(path)])

    def _known(self, name: str) -> str:
        names = self.names()
        if name not in names:
            raise NotFound("table", name, names)
        return name
