"""Opens the database so that rows and house record agree: what a stop left between is taken in, a damaged file is made anew.

A database file is never copied over or deleted: one that cannot be used lies in `<file>.d/aside/` afterwards.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from core.errors import StoreError, StoreInUse
from core.store.anew import make
from core.store.copies import copy_database
from core.store.database import Database
from core.store.digests import recorded_tables
from core.store.holder import Holder
from core.store.migrations import apply_pending, available, pending
from core.store.record import HouseRecord
from core.store.replay import forward_one

_ROWS_A_LINE = 500


def stamp() -> str:
    """A moment as part of a file name, UTC."""
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")


def beside(path: Path) -> Path:
    """The folder beside the database, made when it is not there."""
    folder = Path(f"{path}.d")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def open_sound(path: Path) -> Database:
    """The database, held, migrated, at the record's head. Raises StoreInUse, StoreError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = beside(path)
    holder = Holder.take(folder, path.name)
    try:
        record = HouseRecord(folder / "house.jsonl")
        database = _agreeing(path, folder, record, was_clean=holder.was_clean)
    except BaseException:
        holder.release()
        raise
    database.holder = holder
    try:
        _migrate(database, folder)
        if record.is_empty:
            begin_record(database, record)
        _end_leases(database)
    except BaseException:
        database.close()
        raise
    return database


def _agreeing(path: Path, folder: Path, record: HouseRecord, *, was_clean: bool) -> Database:
    if not path.exists():
        if not record.is_empty:
            return _made_anew(path, folder, record, "The file was not there.")
        _begin_file(path)
    try:
        database = Database(path, record=record)
    except StoreInUse:
        raise
    except StoreError as damage:
        if record.is_empty:
            raise
        return _made_anew(path, folder, record, f"It could not be opened: {damage.message}")
    if record.is_empty:
        return database
    try:
        why = _difference(database, folder, record, was_clean=was_clean)
    except BaseException:
        database.close()
        raise
    if why is None:
        return database
    database.close()
    return _made_anew(path, folder, record, why)


def _begin_file(path: Path) -> None:
    """An empty database under its name, whole or not at all: a stop amid its first blocks would leave a file nobody can open."""
    fresh = path.with_name(f"{path.name}.anew")
    for part in (fresh, Path(f"{fresh}.wal")):
        part.unlink(missing_ok=True)
    Database(fresh).close()
    os.replace(fresh, path)


def _difference(database: Database, folder: Path, record: HouseRecord, *, was_clean: bool) -> str | None:
    """Why the file has to be made anew, None when it agrees with the record (a single missing transaction is taken in here)."""
    pending(database)  # a newer schema is refused before anything else is said
    reached = database.recorded_to()
    if reached is None or reached.seq == 0:
        return "The file knew nothing of what the house record holds."
    behind = record.head.seq - reached.seq
    if behind < 0:
        begin_again(database, folder, record, f"Its rows stand at {reached.seq}, house.jsonl ends at {record.head.seq}.")
        return None
    if record.sha_at(reached.seq) != reached.sha:
        raise StoreError(
            f"{database.path.name} and the house record beside it do not belong together. Nothing was changed.",
            hint="Put back the file and the folder that belong together, or restore a backup: see docs/store.md.",
        )
    if behind > 1:
        return f"{behind} of {record.head.seq} recorded transactions were missing in it."
    if behind == 1:
        (line,) = islice(record.lines(after=reached), 1)
        done = forward_one(database, line, folder / "ledger")
        note(folder, "One transaction that a stop had left between record and rows was taken in.", faults=done.faults)
    elif not was_clean:
        return _short_of_events(database)
    return None


def _short_of_events(database: Database) -> str | None:
    """After an unclean stop: every run has as many events as it says it has."""
    if not database.rows("SELECT 1 FROM information_schema.tables WHERE table_name = 'run_events'"):
        return None
    short = database.rows(
        """SELECT s.run_id, s.last_seq, count(e.seq) AS found FROM run_state s LEFT JOIN run_events e USING (run_id)
           GROUP BY s.run_id, s.last_seq HAVING count(e.seq) <> s.last_seq"""
    )
    return f"{len(short)} runs lacked events." if short else None


def _made_anew(path: Path, folder: Path, record: HouseRecord, why: str) -> Database:
    """Sets the file aside and puts one in its place that is made from the record and the ledgers."""
    fresh = path.with_name(f"{path.name}.anew")
    done = make(fresh, record, folder)
    aside = set_aside(path, folder)
    os.replace(fresh, path)
    kept = f" The file lies in {aside.parent.name}/{aside.name} now." if aside.exists() else ""
    note(folder, f"The database was made anew from house.jsonl and the ledgers. {why}{kept}", faults=done.faults)
    return Database(path, record=record)


def set_aside(path: Path, folder: Path) -> Path:
    """Moves the file with its WAL into `aside/<time>/`; the folder it would lie in is returned even when there was nothing to move."""
    aside = folder / "aside" / stamp()
    for part in (path, Path(f"{path}.wal")):
        if part.exists():
            aside.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.replace(part, aside / part.name)
    return aside


def _migrate(database: Database, folder: Path) -> None:
    """Applies what is pending; a file that holds something is copied first."""
    waiting = [number for number, _ in pending(database)]
    if waiting and waiting[0] > 1:
        copy_database(database, folder / "backups" / f"before-schema-{waiting[0]:04d}-{stamp()}.duckdb")
    apply_pending(database)


def _end_leases(database: Database) -> None:
    """Whoever held one is gone: one process has the file at a time."""
    if database.rows("SELECT 1 FROM ingest_leases WHERE token <> '' LIMIT 1"):
        with database.tx(recorded=False) as writing:
            writing.execute("UPDATE ingest_leases SET token = ''")


def begin_again(database: Database, folder: Path, record: HouseRecord, why: str) -> None:
    """A new record from the rows; the older one stays beside it."""
    aside = record.set_aside(f"house-{stamp()}.jsonl")
    begin_record(database, record)
    note(folder, f"The house record was begun anew from the database. {why} The older one lies in {aside.name}.")


def begin_record(database: Database, record: HouseRecord) -> None:
    """The first lines of a record: everything the database holds already. Named when all are written: half a record is none."""
    unfinished = record.path.with_name("house.begun.jsonl")
    unfinished.unlink(missing_ok=True)
    begun = HouseRecord(unfinished)
    do: list[tuple[str, list[list[Any]]]] = []
    for table, columns in recorded_tables(database).items():
        names, marks = ", ".join(f'"{name}"' for name in columns), ", ".join("?" * len(columns))
        for start in range(0, 1 << 62, _ROWS_A_LINE):
            piece = f'SELECT {names} FROM "{table}" ORDER BY ALL LIMIT ? OFFSET ?'  # noqa: S608 (names from the database's own catalog)
            with database.reader() as cursor:
                found = cursor.execute(piece, [_ROWS_A_LINE, start])
                rows = [list(row) for row in found.fetchall()]
            if not rows:
                break
            do.append((f'INSERT INTO "{table}" ({names}) VALUES ({marks})', rows))  # noqa: S608 (names from the database's own catalog)
    head = begun.append([], [{"base": available()[-1][0]}])
    for part in do:
        head = begun.append([part], [])
    record.take_over(begun)
    with database.tx(recorded=False) as writing:
        writing.execute("UPDATE house_cursor SET seq = ?, sha = ?", [head.seq, head.sha])


def note(folder: Path, what: str, *, faults: list[str] | None = None) -> None:
    """Keeps what was mended at an opening, newest last; doctor and the Health page show it."""
    line = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "what": what, "faults": faults or []}
    with (folder / "mended.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")


def mended(folder: Path) -> list[dict[str, Any]]:
    """What was mended so far, oldest first."""
    path = folder / "mended.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
