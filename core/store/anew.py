"""Makes a database file from the house record and the ledgers; where the record is broken, from the newest backup behind the break."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from core.errors import StoreError
from core.store.copies import remove_database
from core.store.database import Database
from core.store.digests import differing, digests
from core.store.made_anew import TABLES
from core.store.record import HouseRecord
from core.store.replay import Replayed, replay


def make(target: Path, record: HouseRecord, folder: Path, *, upto: int | None = None) -> Replayed:
    """A new file; a broken record is bridged by a backup where one reaches behind the break, and what happened is said in `faults`."""
    remove_database(target)
    database = Database(target)
    try:
        done = replay(database, record, folder / "ledger", upto=upto)
    finally:
        database.close()
    return _from_backup(target, record, folder, done, upto) if done.is_broken else done


def _from_backup(target: Path, record: HouseRecord, folder: Path, done: Replayed, upto: int | None) -> Replayed:
    """Bridges the break; where no backup reaches behind it, what the record gave up to there stays."""
    bridge = target.with_name(f"{target.name}.bridge")
    try:
        for manifest in sorted((folder / "backups").glob("*.json"), reverse=True):
            said = json.loads(manifest.read_text("utf-8"))
            if said["seq"] <= done.at.seq or (upto is not None and said["seq"] > upto):
                continue
            remove_database(bridge)
            shutil.copyfile(manifest.with_suffix(".duckdb"), bridge)
            later = _carried_on(bridge, said, record, folder, upto)
            if later is not None:
                os.replace(bridge, target)
                later.faults = [*done.faults[:-1], f"{done.faults[-1]} Taken from the backup of {said['made']} instead.", *later.faults]
                return later
    finally:
        remove_database(bridge)
    return done


def _carried_on(copy: Path, said: dict[str, Any], record: HouseRecord, folder: Path, upto: int | None) -> Replayed | None:
    """The backup with what the record holds after it; None where either cannot be trusted."""
    database = Database(copy)
    try:
        head = database.recorded_to()
        if head is None or differing(digests(database), said["digests"]):
            return None
        later = replay(database, record, folder / "ledger", after=head, upto=upto)
        return None if later.is_broken else later
    finally:
        database.close()


def compared(path: Path, fresh: Path, record: HouseRecord) -> dict[str, Any]:
    """{tables: {name: {before, anew, rows_before, rows_anew}}, equal, differing, readable, behind} of the old file against the new one."""
    anew, _ = _read(fresh)
    before, reached = _read(path)
    tables = {
        name: {
            "before": (before or {}).get(name, {}).get("sha256"), "anew": anew.get(name, {}).get("sha256") if anew else None,
            "rows_before": (before or {}).get(name, {}).get("rows"), "rows_anew": anew.get(name, {}).get("rows") if anew else None,
        }
        for name in sorted({*(before or {}), *(anew or {})})
    }  # fmt: skip
    wrong = differing(before, anew) if before is not None and anew is not None else sorted(tables)
    return {"tables": tables, "equal": not wrong, "differing": wrong, "readable": before is not None, "behind": reached < record.head.seq}


def _read(path: Path) -> tuple[dict[str, dict[str, Any]] | None, int]:
    """(digests, place in the record) of a file; (None, 0) when it is not there or cannot be read."""
    if not path.exists():
        return None, 0
    try:
        database = Database(path, read_only=True)
    except StoreError:
        return None, 0
    try:
        head = database.recorded_to()
        return digests(database), head.seq if head else 0
    except StoreError:
        return None, 0
    finally:
        database.close()


def not_recorded() -> dict[str, str]:
    """Tables that are made anew from elsewhere, and from where."""
    return {name: why for name, why in TABLES.items() if name not in ("house_cursor", "schema_migrations")}
