"""Applies the numbered SQL files, each in one transaction together with its record."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from core.errors import StoreError
from core.store.database import Database, Writing

FOLDER = Path(__file__).with_name("migrations")
_RECORD = """CREATE TABLE IF NOT EXISTS schema_migrations
    (number INTEGER PRIMARY KEY, sha256 VARCHAR NOT NULL, noted_at TIMESTAMPTZ DEFAULT now())"""
_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")


def available(folder: Path = FOLDER) -> list[tuple[int, Path]]:
    """Number and file of every migration, in order. Raises StoreError for a doubled or missing number."""
    found = sorted((int(match.group(1)), path) for path in folder.glob("*.sql") if (match := _NAME.fullmatch(path.name)))
    numbers = [number for number, _ in found]
    if numbers != list(range(1, len(numbers) + 1)):
        raise StoreError(f"Migrations must be numbered 1, 2, 3 …; found {numbers}.")
    return found


def pending(database: Database, folder: Path = FOLDER) -> list[tuple[int, Path]]:
    """What has not been applied yet. A newer schema than this program knows is refused."""
    with database.tx(recorded=False) as cursor:
        cursor.execute(_RECORD)
    known = {int(str(row["number"])) for row in database.rows("SELECT number FROM schema_migrations")}
    files = available(folder)
    if known - {number for number, _ in files}:
        raise StoreError(
            f"{database.path.name} was written by a newer version (schema {max(known)}). Nothing was changed.",
            hint="Start the newer version, or restore a backup made by this one.",
        )
    return [(number, path) for number, path in files if number not in known]


def apply_pending(database: Database, folder: Path = FOLDER, *, upto: int | None = None) -> list[int]:
    """Applies what is pending (up to a number) and returns its numbers."""
    done = []
    for number, path in pending(database, folder):
        if upto is None or number <= upto:
            recorded = database.record is not None and not database.record.is_empty
            with database.tx(recorded=recorded) as writing:
                apply_one(writing, number, path)
            done.append(number)
    return done


def apply_one(writing: Writing, number: int, path: Path) -> None:
    """One migration with its own row; the house record names it, the file holds it."""
    text = path.read_text("utf-8")
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    row = "INSERT INTO schema_migrations (number, sha256) VALUES (?, ?)"
    writing.execute_from({"migration": number}, [(text, []), (row, [number, sha256])])
