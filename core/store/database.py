"""Opens the one DuckDB file, hands out a cursor per use, maps the driver's errors. The only writer is `tx`."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb

from core.errors import StoreError, StoreInUse

_HOLDER = re.compile(r"PID (\d+)")
_OPTIONS = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false", "threads": "2"}


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except duckdb.IOException as error:
        holder = _HOLDER.search(str(error))
        if "lock" in str(error).lower():
            who = f"process {holder.group(1)}" if holder else "another process"
            raise StoreInUse(
                f"{path.name} is held by {who}. Nothing was changed.",
                hint="Close the other program (the app itself counts), or choose another file with --db or DRAFTLEDGER_DB.",
            ) from error
        raise StoreError(f"{path}: {error}", hint="Check the path, the rights and the free space.") from error
    except duckdb.Error as error:
        raise StoreError(f"{path.name}: {error}", hint="The rows already stored are kept. See docs/store.md.") from error


class Database:
    """One process-wide connection; each reader and each transaction takes its own cursor. Times are UTC."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._write = threading.RLock()
        path.parent.mkdir(parents=True, exist_ok=True)
        with _translated(path):
            self._root = duckdb.connect(str(path), config=dict(_OPTIONS))
            self._root.execute("SET GLOBAL timezone='UTC'")
            self._root.execute("SET GLOBAL python_enable_replacements=false")
        with contextlib.suppress(OSError):
            os.chmod(path, 0o600)

    @contextlib.contextmanager
    def reader(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor for questions."""
        with _translated(self.path), contextlib.closing(self._root.cursor()) as cursor:
            yield cursor

    @contextlib.contextmanager
    def tx(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A transaction: all or nothing, one writer at a time."""
        with self._write, self.reader() as cursor:
            cursor.execute("BEGIN")
            try:
                yield cursor
            except BaseException:
                with contextlib.suppress(duckdb.Error):
                    cursor.execute("ROLLBACK")
                raise
            cursor.execute("COMMIT")

    def rows(self, sql: str, params: list[object] | None = None) -> list[dict[str, object]]:
        """Answers a question as a list of dicts (column → Python value)."""
        with self.reader() as cursor:
            found = cursor.execute(sql, params or [])
            names = [column[0] for column in found.description]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def close(self) -> None:
        """Checkpoints and lets the file go."""
        with self._write, contextlib.suppress(duckdb.Error):
            self._root.close()
