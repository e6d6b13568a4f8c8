"""A consistent copy of the live database: written aside, synced, read back, then renamed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from core.errors import StoreError
from core.store.database import Database
from core.store.digests import differing, digests
from core.store.record import Head


def copy_database(database: Database, target: Path) -> dict[str, Any]:
    """Copies while others go on reading; no transaction falls between rows and head. {digests, seq, sha}; raises StoreError."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    aside = target.with_name(f"{target.name}.part")
    remove_database(aside)
    with database.still():
        head, before = database.recorded_to(), digests(database)
        try:
            with database.reader() as cursor:
                (name,) = cursor.execute("SELECT current_database()").fetchone() or ("",)
                cursor.execute("ATTACH ? AS copied", [str(aside)])
                try:
                    cursor.execute('COPY FROM DATABASE "{}" TO copied'.format(str(name).replace('"', '""')))
                finally:
                    cursor.execute("DETACH copied")
        except StoreError:
            remove_database(aside)
            raise
    sync(aside)
    after = _digests_of(aside)
    wrong = differing(before, after)
    if wrong:
        remove_database(aside)
        raise StoreError(f"The copy differs from the database in {', '.join(wrong)}; it was thrown away.", hint="Run `doctor`.")
    os.replace(aside, target)
    sync(target.parent)
    head = head or Head(0, "")
    return {"digests": after, "seq": head.seq, "sha": head.sha}


def _digests_of(path: Path) -> dict[str, dict[str, Any]]:
    copied = Database(path, read_only=True)
    try:
        return digests(copied)
    finally:
        copied.close()


def sync(path: Path) -> None:
    """Has the disk keep a file or a folder's entries."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_database(path: Path) -> None:
    """Removes a database file with its WAL."""
    for part in (path, Path(f"{path}.wal")):
        part.unlink(missing_ok=True)
