"""Opens the one DuckDB file, hands out a cursor per use, maps the driver's errors. The only writer is `tx`.

A transaction is first written to the house record, then committed; the record's number stands in the same transaction, so that after any
stop it can be told which of the two came further.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from core.domain.handles import ERASED, HANDLE
from core.errors import StoreError, StoreInUse
from core.ports.names import Names
from core.store.holder import Holder, in_use
from core.store.record import Do, Head, HouseRecord

_HOLDER = re.compile(r"PID (\d+)")
_QUESTION = re.compile(r"\s*(SELECT|FROM|DESCRIBE)\b", re.IGNORECASE)
BY_NAME = frozenset(("created_by", "typed_by", "written_by", "imported_by", "made_by", "revoked_by", "who"))
_OPTIONS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "threads": "2",
}
_FULL = "No space left"
_ONE_ROW = re.compile(r"(INSERT\b.*\bVALUES )(\((?:\?, )*\?\))", re.DOTALL)
_AT_ONCE = 200


class Writing:
    """The cursor of one transaction; what it writes is noted for the house record."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self._cursor = cursor
        self.do: Do = []
        self.notes: list[dict[str, Any]] = []

    def execute(self, sql: str, params: Sequence[Any] | None = None) -> duckdb.DuckDBPyConnection:
        """Does one statement. One that changes rows has to give the same rows when it is done again: no now(), random() or sequence."""
        done = self._cursor.execute(sql, list(params or []))
        if not _QUESTION.match(sql):
            if self.do and self.do[-1][0] == sql:
                self.do[-1][1].append(list(params or []))
            else:
                self.do.append((sql, [list(params or [])]))
        return done

    def executemany(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """One statement for many rows; plain inserts go some hundred rows at a time."""
        form = _ONE_ROW.fullmatch(sql)
        self.do.append((sql, [list(row) for row in rows]))
        for start in range(0, len(rows), _AT_ONCE):
            part = rows[start : start + _AT_ONCE]
            if form:
                self._cursor.execute(form[1] + ", ".join([form[2]] * len(part)), [value for row in part for value in row])
            else:
                for row in part:
                    self._cursor.execute(sql, list(row))

    def execute_from(self, note: dict[str, Any], statements: Sequence[tuple[str, Sequence[Any]]]) -> None:
        """Statements whose content stands in another file; the record only says in which."""
        for sql, params in statements:
            self._cursor.execute(sql, list(params))
        self.notes.append(note)


class Database:
    """One process-wide connection; each reader and each transaction takes its own cursor. Times are UTC.

    With a `record` every transaction is written ahead; `holder` is let go at the end.
    """

    def __init__(self, path: Path, *, record: HouseRecord | None = None, holder: Holder | None = None, read_only: bool = False) -> None:
        self.path = path
        self.record = record
        self.holder = holder
        self.names: Names | None = None
        self._is_read_only = read_only
        self._write = threading.RLock()
        self.writes = 0  # grows with every transaction: what was read under one number is still true under the same number
        self._is_dead = False
        self._is_writing = False
        self._open_question: Head | None = None
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connect()
        self._keep_from_others()

    def _keep_from_others(self) -> None:
        """File and write-ahead log are their owner's alone; the driver makes a new log after every checkpoint, open to all."""
        for path in (self.path, self.path.with_name(f"{self.path.name}.wal")):
            with contextlib.suppress(OSError):
                os.chmod(path, 0o600)

    @contextlib.contextmanager
    def reader(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor for questions."""
        if self._is_dead:
            self.revive()
        with self._translated(), contextlib.closing(self._root.cursor()) as cursor:
            yield cursor

    @contextlib.contextmanager
    def tx(self, *, recorded: bool = True) -> Iterator[Writing]:
        """A transaction: all or nothing, one writer at a time. `recorded` False: for rows made anew from elsewhere (made_anew.py)."""
        with self._write, self.reader() as cursor:
            if self._is_writing:
                raise RuntimeError("a transaction inside a transaction: the two could not be told apart in the house record")
            if self._open_question is not None:
                self._settle()
            before = self.record.head if self.record is not None else None
            cursor.execute("BEGIN")
            writing = Writing(cursor)
            self.writes += 1
            self._is_writing = True
            try:
                yield writing
                if recorded and self.record is not None and (writing.do or writing.notes):
                    self._write_ahead(self.record, cursor, writing)
            except BaseException:
                with contextlib.suppress(duckdb.Error):
                    cursor.execute("ROLLBACK")
                if self.record is not None and self.record.head != before:
                    self.record.take_back()
                raise
            finally:
                self._is_writing = False
            try:
                self._commit(cursor, self.record.head if self.record is not None and self.record.head != before else None)
            finally:
                self.writes += 1
                self._keep_from_others()

    def rows(self, sql: str, params: list[object] | None = None) -> list[dict[str, object]]:
        """Answers a question as a list of dicts (column → Python value)."""
        with self.reader() as cursor:
            found = cursor.execute(sql, params or [])
            names = [column[0] for column in found.description]
            rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        return self._named(rows, BY_NAME.intersection(names)) if self.names and rows else rows

    def _named(self, rows: list[dict[str, object]], columns: frozenset[str]) -> list[dict[str, object]]:
        """Who wrote something is kept by handle (core/domain/handles.py) and read by name."""
        for row in rows:
            for column in columns:
                value = row[column]
                if isinstance(value, str) and HANDLE.fullmatch(value) and self.names:
                    row[column] = self.names.name_of(value) or ERASED
        return rows

    @contextlib.contextmanager
    def still(self) -> Iterator[None]:
        """Holds writers back for the length of a copy; readers go on."""
        with self._write:
            yield

    def recorded_to(self) -> Head | None:
        """How far the rows stand in the house record; None in a file from before there was one."""
        if not self.rows("SELECT 1 FROM information_schema.tables WHERE table_name = 'house_cursor'"):
            return None
        (row,) = self.rows("SELECT seq, sha FROM house_cursor")
        return Head(int(str(row["seq"])), str(row["sha"]))

    def revive(self) -> None:
        """Opens the file again after the driver gave it up (a disk that was full at a checkpoint). What was committed is kept."""
        with self._write:
            self._reopen()
            self._settle()

    def close(self) -> None:
        """Checkpoints and lets the file go."""
        with self._write:
            with contextlib.suppress(duckdb.Error):
                self._root.close()
            if self.holder is not None:
                self.holder.release()
                self.holder = None

    def _connect(self) -> None:
        with self._translated():
            self._root = duckdb.connect(str(self.path), read_only=self._is_read_only, config=dict(_OPTIONS))
            self._root.execute("SET GLOBAL timezone='UTC'")
            self._root.execute("SET GLOBAL python_enable_replacements=false")
            self._root.execute("SET GLOBAL lock_configuration=true")  # no statement turns any of this back on

    def _reopen(self) -> None:
        if self._is_dead:
            with contextlib.suppress(duckdb.Error):
                self._root.close()
            self._connect()
            self._is_dead = False

    def _write_ahead(self, record: HouseRecord, cursor: duckdb.DuckDBPyConnection, writing: Writing) -> None:
        try:
            head = record.append(writing.do, writing.notes)
        except OSError as error:
            raise _not_saved(self.path, error) from error
        cursor.execute("UPDATE house_cursor SET seq = ?, sha = ?", [head.seq, head.sha])

    def _commit(self, cursor: duckdb.DuckDBPyConnection, head: Head | None) -> None:
        """A COMMIT that fails may have been kept all the same: the number in the database tells, and the record follows it."""
        try:
            cursor.execute("COMMIT")
        except duckdb.Error as error:
            self._is_dead = self._is_dead or isinstance(error, duckdb.FatalException)
            self._open_question = head
            with contextlib.suppress(StoreError):
                self._reopen()
                if self._settle():
                    return
            raise

    def _settle(self) -> bool:
        """After a failed COMMIT: True when the transaction is there. When it is not, its line in the record is taken back."""
        head = self._open_question
        if head is None or self.record is None:
            return False
        arrived = self.recorded_to() == head
        if not arrived:
            self.record.take_back()
        self._open_question = None
        return arrived

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except duckdb.Error as error:
            self._is_dead = self._is_dead or isinstance(error, duckdb.FatalException)
            raise _in_words(self.path, error) from error


def _in_words(path: Path, error: duckdb.Error) -> StoreError:
    text = str(error)
    if _FULL in text:
        return _not_saved(path, error)
    if isinstance(error, duckdb.IOException):
        if "lock" in text.lower():
            holder = _HOLDER.search(text)
            if holder is None:
                return in_use(path.name, None)
            return StoreInUse(
                f"{path.name} is held by process {holder.group(1)}. Nothing was changed.",
                hint="Close the other program (the app itself counts), or choose another file with --db or DRAFTLEDGER_DB.",
            )
        return StoreError(f"{path}: {text}", hint="Check the path, the rights and the free space.")
    return StoreError(f"{path.name}: {text}", hint="The rows already stored are kept. See docs/store.md.")


def _not_saved(path: Path, error: Exception) -> StoreError:
    why = "The disk is full" if _FULL in str(error) else f"The disk refused the writing ({error})"
    return StoreError(
        f"{why}: this was not saved. Everything stored before is kept, and reading goes on.",
        title="Not saved",
        hint=f"Free space under {path.parent}, then do it again; no restart is needed.",
    )
