"""Backups: made on the live app, kept for 14 days and 8 weeks, proved by making the database anew from its sources."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from core.services.access import authorize, record
from core.services.house import House

NIGHTLY, ASKED = "nightly", "asked"
DAILY, WEEKLY = 14, 8
EVERY = timedelta(hours=24)


def back_up(house: House, *, to: Path | None = None, kind: str = ASKED) -> dict[str, Any]:
    """One backup, also while others read and write; {backup, kind, made, rows, files, seq, sha, digests}. Raises StoreError, NotAllowed."""
    authorize(house, "house.keep", "backup")
    made = house.upkeep.back_up(to, kind=kind, version=house.version)
    record(house, "house.keep", "backup", file=made["backup"], seq=made["seq"])
    return made


def is_due(house: House, since: datetime) -> bool:
    """Whether the nightly backup is due: a day after the newest one, or a day after `since` when there is none."""
    authorize(house, "house.keep")
    made = [datetime.fromisoformat(one["made"]) for one in house.upkeep.backups() if one["kind"] == NIGHTLY]
    return house.clock.now() - (max(made) if made else since) >= EVERY


def nightly(house: House) -> dict[str, Any]:
    """The nightly backup: made, proved by a rebuild, then the old ones are dropped: {…, proof, dropped}. Raises StoreError."""
    authorize(house, "house.keep")
    made = back_up(house, kind=NIGHTLY)
    manifest = next(one for one in house.upkeep.backups() if one["path"] == made["backup"])
    proof = house.upkeep.prove(manifest)
    old = superfluous([one for one in house.upkeep.backups() if one["kind"] == NIGHTLY])
    for one in old:
        house.upkeep.drop_backup(one)
    return {**made, "proof": proof, "dropped": [one["path"] for one in old]}


def superfluous(manifests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Nightly backups that may go: all but the newest of each of the last 14 days and of the last 8 weeks that have one."""
    newest_first = sorted(manifests, key=lambda one: one["made"], reverse=True)
    kept = _newest_of_each(newest_first, "%Y-%m-%d", DAILY) | _newest_of_each(newest_first, "%G-%V", WEEKLY)
    return [one for one in newest_first if one["path"] not in kept]


def _newest_of_each(newest_first: list[dict[str, Any]], form: str, count: int) -> set[str]:
    chosen: dict[str, str] = {}
    for one in newest_first:
        chosen.setdefault(datetime.fromisoformat(one["made"]).strftime(form), one["path"])
    return set(list(chosen.values())[:count])
