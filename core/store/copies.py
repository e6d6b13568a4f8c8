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
    _remove(aside)
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
            _remove(aside)
            raise
    _sync(aside)
    after = _digests_of(aside)
    wrong = differing(before, after)
    if wrong:
        _remove(aside)
        raise StoreError(f"The copy differs from the database in {', '.join(wrong)}; it was thrown away.", hint="Run `doctor`.")
    os.replace(aside, target)
    _sync(target.parent)
    head = head or Head(0, "")
    return {"digests": after, "seq": head.seq, "sha": head.sha}


def _digests_of(path: Path) -> dict[str, dict[str, Any]]:
    copied = Database(path)
    try:
        return digests(copied)
    finally:
        copied.close()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    for part in (path, Path(f"{path}.wal")):
        part.unlink(missing_ok=True)
