"""Copies of the files beside the database: one copy a file for all backups, appended when the original grew, never overwritten."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

from core.errors import InvalidInput, StoreError

MAY_BE_GONE = "names"  # names of people: one that was erased after the backup is no fault of it
NOT_COPIED = {"backups", "aside", "asked", "holder.json", "door.key"}  # a key is never part of a backup
_PART = 1 << 20


def sizes(folder: Path) -> dict[str, int]:
    """Bytes of every file that a backup has to hold, by its path under the folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and name.parts[0] not in NOT_COPIED and path.suffix != ".part":
            found[str(name)] = path.stat().st_size
    return found


def copy_files(folder: Path, wanted: dict[str, int], mirror: Path) -> dict[str, dict[str, Any]]:
    """Brings the mirror up to `wanted`: {path: {bytes, sha256}}. A copy that is not the file's beginning is set aside."""
    return {name: _copy(folder / name, mirror / name, size) for name, size in wanted.items()}


def _copy(source: Path, target: Path, size: int) -> dict[str, Any]:
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    sha256 = digest_of(source, size)
    have = target.stat().st_size if target.exists() else 0
    if have and digest_of(target, min(have, size)) != digest_of(source, min(have, size)):
        os.replace(target, target.with_name(f"{target.name}.{digest_of(target, have)[:12]}"))
        have = 0
    if have < size:
        with source.open("rb") as original, target.open("ab") as copy:
            original.seek(have)
            left = size - have
            while left and (part := original.read(min(_PART, left))):
                copy.write(part)
                left -= len(part)
            copy.flush()
            os.fsync(copy.fileno())
    if digest_of(target, size) != sha256:
        raise StoreError(f"The copy of {source.name} is not what was read.", hint="Check the disk that backups go to.")
    return {"bytes": size, "sha256": sha256}


def digest_of(path: Path, size: int) -> str:
    """SHA-256 of the first `size` bytes."""
    whole = hashlib.sha256()
    with path.open("rb") as file:
        while size > 0 and (part := file.read(min(_PART, size))):
            whole.update(part)
            size -= len(part)
    return whole.hexdigest()


def find_faults(files: dict[str, dict[str, Any]], mirror: Path) -> list[str]:
    """Names of files whose copy is missing or not what the manifest says."""
    return [name for name, said in files.items() if _place(said, mirror / name) is None and not _is_erased(name, mirror)]


def put_back(files: dict[str, dict[str, Any]], mirror: Path, folder: Path) -> None:
    """Puts the files of a manifest in place, at the length they had then."""
    for name, said in files.items():
        if _is_erased(name, mirror):
            continue
        place, target = _place(said, mirror / name), folder / name
        if place is None or ".." in Path(name).parts or Path(name).is_absolute():
            raise InvalidInput({"backup": f"{name} in it is missing or was changed."}, hint="Nothing was restored. Take another backup.")
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        shutil.copyfile(place, target)
        os.truncate(target, said["bytes"])
        os.chmod(target, 0o600)


def _is_erased(name: str, mirror: Path) -> bool:
    return Path(name).parts[0] == MAY_BE_GONE and not (mirror / name).exists()


def _place(said: dict[str, Any], path: Path) -> Path | None:
    """The copy that has the content: the newest, or one that was set aside."""
    for candidate in [path, *sorted(path.parent.glob(f"{path.name}.*"))]:
        if candidate.is_file() and candidate.stat().st_size >= said["bytes"] and digest_of(candidate, said["bytes"]) == said["sha256"]:
            return candidate
    return None
