"""The archive as files under `<database>.d/`: `ledger/<run>.jsonl`, `raw/<run>/<name>.gz`, `decisions.jsonl`."""

from __future__ import annotations

import gzip
import hashlib
import os
from pathlib import Path

from core.errors import OutputNotUnderstood, StoreError
from core.ports.archive import Archive, KeptFile


class FolderArchive(Archive):
    """Files under one folder, mode 0700."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def append_events(self, run_id: str, offset: int, data: bytes) -> None:
        path = self.folder / "ledger" / f"{run_id}.jsonl"
        path.parent.mkdir(exist_ok=True)
        have = path.stat().st_size if path.exists() else 0
        fresh = data[max(0, have - offset) :]
        if fresh:
            _append(path, fresh)

    def keep(self, run_id: str, name: str, data: bytes) -> KeptFile:
        target = self.folder / "raw" / run_id / f"{name}.gz"
        target.parent.mkdir(parents=True, exist_ok=True)
        aside = target.with_suffix(".part")
        aside.write_bytes(gzip.compress(data, mtime=0))
        os.replace(aside, target)
        return KeptFile(hashlib.sha256(data).hexdigest(), len(data), str(target.relative_to(self.folder)))

    def read(self, stored_as: str, sha256: str) -> bytes:
        path = self.folder / stored_as
        try:
            data = gzip.decompress(path.read_bytes())
        except (OSError, EOFError) as error:
            raise OutputNotUnderstood(
                f"The raw file {stored_as} cannot be read: {error}", hint="The figures stored from it are kept."
            ) from error
        if hashlib.sha256(data).hexdigest() != sha256:
            raise OutputNotUnderstood(
                f"The raw file {stored_as} was changed after it was stored.", hint="The figures stored from it are kept."
            )
        return data

    def append_decision(self, line: str) -> None:
        try:
            _append(self.folder / "decisions.jsonl", line.encode("utf-8") + b"\n")
        except OSError as error:
            raise StoreError(
                f"The decision journal cannot be written: {error}",
                hint="Nothing was decided. Free space or fix the rights, then sign again.",
            ) from error


def _append(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
