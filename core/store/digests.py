"""One digest a table, the same for the same rows whatever their order on disk: how two databases are proved equal."""

from __future__ import annotations

import hashlib
from typing import Any

from core.domain.recipe import canonical
from core.store.database import Database
from core.store.made_anew import COLUMNS, TABLES


def recorded_tables(database: Database) -> dict[str, list[str]]:
    """Table → its columns, without what is made anew from elsewhere."""
    found: dict[str, list[str]] = {}
    for row in database.rows(
        "SELECT table_name, column_name FROM duckdb_columns() WHERE schema_name = 'main' AND NOT internal ORDER BY table_name, column_index"
    ):
        found.setdefault(str(row["table_name"]), []).append(str(row["column_name"]))
    views = {str(row["view_name"]) for row in database.rows("SELECT view_name FROM duckdb_views() WHERE NOT internal")}
    return {
        table: [column for column in columns if (table, column) not in COLUMNS]
        for table, columns in found.items()
        if table not in TABLES and table not in views
    }


def digests(database: Database) -> dict[str, dict[str, Any]]:
    """Table → {rows, sha256} over the rows in the order of their content."""
    return {table: _digest(database, table, columns) for table, columns in recorded_tables(database).items()}


def _digest(database: Database, table: str, columns: list[str]) -> dict[str, Any]:
    whole, count = hashlib.sha256(canonical(columns).encode()), 0
    with database.reader() as cursor:
        # Names come from the database's own catalog, not from anybody's input.
        found = cursor.execute('SELECT {} FROM "{}" ORDER BY ALL'.format(", ".join(f'"{name}"' for name in columns), table))  # noqa: S608
        while rows := found.fetchmany(1000):
            for row in rows:
                whole.update(repr(row).encode("utf-8"))
                count += 1
    return {"rows": count, "sha256": whole.hexdigest()}


def differing(one: dict[str, dict[str, Any]], other: dict[str, dict[str, Any]]) -> list[str]:
    """Tables whose rows are not the same."""
    return sorted(table for table in one.keys() | other.keys() if one.get(table) != other.get(table))
