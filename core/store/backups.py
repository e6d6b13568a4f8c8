"""Backups: a copy of the database, its manifest, and the files beside it in one shared mirror. Restoring one."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core.errors import InvalidInput, StoreError
from core.store.copies import copy_database, remove_database, sync
from core.store.database import Database
from core.store.digests import differing, digests
from core.store.holder import Holder
from core.store.mirror import NOT_COPIED, copy_files, digest_of, find_faults, put_back, sizes
from core.store.soundness import beside, note, open_sound, set_aside, stamp


def back_up(database: Database, folder: Path, to: Path | None, *, kind: str, version: str) -> dict[str, Any]:
    """One backup into `to`; the manifest with its `path`. Raises StoreError, also where the place cannot be written."""
    place = (to or folder / "backups").resolve()
    target = place / f"{database.path.stem}-{stamp()}.duckdb"
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        with database.still():
            wanted = sizes(folder)
            copied = copy_database(database, target)
        files = copy_files(folder, wanted, place / "files")
        (schema,) = database.rows("SELECT max(number) AS number FROM schema_migrations")
        manifest = {
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "kind": kind,
            "version": version,
            "schema": schema["number"],
            "database": {"name": target.name, "bytes": target.stat().st_size, "sha256": digest_of(target, target.stat().st_size)},
            "files": files,
            **copied,
        }
        write_manifest(target.with_suffix(".json"), manifest)
    except OSError as error:
        with contextlib.suppress(OSError):
            remove_database(target)
        raise StoreError(
            f"No backup could be made in {place}: {error.strerror or error}.", title="No backup", hint="The database is untouched."
        ) from error
    return {**manifest, "path": str(target)}


def write_manifest(path: Path, manifest: dict[str, Any]) -> None:
    """Written aside, synced, renamed: a manifest is whole or not there."""
    aside = path.with_name(f"{path.name}.part")
    with aside.open("w", encoding="utf-8") as file:
        json.dump({key: value for key, value in manifest.items() if key != "path"}, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)
    sync(path.parent)


def list_backups(place: Path) -> list[dict[str, Any]]:
    """Manifests, newest first. A copy without one was never finished and is not listed."""
    found = [{**json.loads(path.read_text("utf-8")), "path": str(path.with_suffix(".duckdb"))} for path in place.glob("*.json")]
    return sorted(found, key=lambda one: (one["made"], one["path"]), reverse=True)


def restore(path: Path, file: Path) -> dict[str, Any]:
    """Puts a backup in place. Everything is checked before anything is touched; what was there lies in `aside/` afterwards."""
    manifest, copy = _checked_manifest(file.resolve())
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = beside(path)
    holder = Holder.take(folder, path.name)
    try:
        aside = set_aside(path, folder)
        aside.mkdir(parents=True, exist_ok=True, mode=0o700)
        for entry in [entry for entry in folder.iterdir() if entry.name not in NOT_COPIED]:
            os.replace(entry, aside / entry.name)
        put_back(manifest["files"], copy.parent / "files", folder)
        fresh = path.with_name(f"{path.name}.anew")
        shutil.copyfile(copy, fresh)
        os.replace(fresh, path)
        found = _digests_of(path)
    finally:
        holder.release()
    note(folder, f"The backup of {manifest['made']} was restored. What was there before lies in aside/{aside.name}.")
    open_sound(path).close()
    wrong = differing(found, manifest["digests"])
    return {
        "restored": str(copy), "made": manifest["made"], "equal": not wrong, "differing": wrong,
        "seq": manifest["seq"], "sha": manifest["sha"],
        "rows": sum(one["rows"] for one in found.values()), "files": len(manifest["files"]), "aside": str(aside),
    }  # fmt: skip


def _digests_of(path: Path) -> dict[str, dict[str, Any]]:
    database = Database(path, read_only=True)
    try:
        return digests(database)
    finally:
        database.close()


def _checked_manifest(file: Path) -> tuple[dict[str, Any], Path]:
    copy, said = file.with_suffix(".duckdb"), file.with_suffix(".json")
    try:
        manifest = json.loads(said.read_text("utf-8"))
        known = manifest["database"]
        whole = copy.stat().st_size == known["bytes"] and digest_of(copy, known["bytes"]) == known["sha256"]
    except (OSError, ValueError, KeyError) as error:
        raise InvalidInput({"backup": f"{file} is no backup: {error}."}, hint="Nothing was restored.") from error
    wrong = ([] if whole else [copy.name]) + find_faults(manifest["files"], copy.parent / "files")
    if wrong:
        raise InvalidInput({"backup": f"was changed or is incomplete: {', '.join(wrong[:5])}."}, hint="Nothing was restored. Take another.")
    return manifest, copy


def drop(manifest: dict[str, Any]) -> None:
    """Removes one backup, its manifest first: what remains of a cut removal is no backup any more. The mirror stays."""
    path = Path(manifest["path"])
    path.with_suffix(".json").unlink(missing_ok=True)
    remove_database(path)
