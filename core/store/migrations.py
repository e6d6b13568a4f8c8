"""Applies the numbered SQL files, each in one transaction together with its record."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from core.errors import StoreError
from core.store.database import Database

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


def apply_pending(database: Database, folder: Path = FOLDER) -> list[int]:
    """Applies what is pending and returns its numbers. A newer schema than this program knows is refused."""
    with database.tx() as cursor:
        cursor.execute(_RECORD)
    known = {row["number"] for row in database.rows("SELECT number FROM schema_migrations")}
    files = available(folder)
    if known - {number for number, _ in files}:
        raise StoreError(
            f"{database.path.name} was written by a newer version (schema {max(known)}). Nothing was changed.",  # type: ignore[type-var]
            hint="Start the newer version, or restore a backup made by this one.",
        )
    done = []
    for number, path in files:
        if number not in known:
            text = path.read_text("utf-8")
            with database.tx() as cursor:
                cursor.execute(text)
                cursor.execute(
                    "INSERT INTO schema_migrations (number, sha256) VALUES (?, ?)", [number, hashlib.sha256(text.encode()).hexdigest()]
                )
            done.append(number)
    return done
