"""The archive as files under `<database>.d/`: `ledger/<run>.jsonl`, `raw/<run>/<name>.gz`, `snapshots/<sha256>.json`, `decisions.jsonl`."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from core.errors import OutputNotUnderstood, StoreError
from core.ports.archive import Archive, KeptFile

_APPENDING = threading.Lock()  # one process holds the database and its folder


class FolderArchive(Archive):
    """Files under one folder, mode 0700."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def append_events(self, run_id: str, offset: int, data: bytes) -> None:
        path = self._ledger(run_id)
        path.parent.mkdir(exist_ok=True)
        with _APPENDING:  # length and append belong together: two looks at once would write the same lines twice
            have = self.ledger_size(run_id)
            if have < offset:
                raise StoreError(
                    f"The ledger of run {run_id[:6]} here has {have} bytes, {offset} were stored. Nothing was added.",
                    hint="Run `python -m core doctor --mend`: it is fetched again while the box still has it.",
                )
            fresh = data[have - offset :]
            if fresh:
                _append(path, fresh)

    def ledger_size(self, run_id: str) -> int:
        path = self._ledger(run_id)
        return path.stat().st_size if path.exists() else 0

    def replace_ledger(self, run_id: str, data: bytes) -> None:
        path = self._ledger(run_id)
        path.parent.mkdir(exist_ok=True)
        fresh = path.with_suffix(".part")
        fresh.unlink(missing_ok=True)
        _append(fresh, data)
        if path.exists():
            os.replace(path, path.with_suffix(f".damaged-{path.stat().st_mtime_ns}"))
        os.replace(fresh, path)

    def drop(self, stored_as: str) -> bool:
        path = self.folder / stored_as
        there = path.exists()
        path.unlink(missing_ok=True)
        return there

    def _ledger(self, run_id: str) -> Path:
        return self.folder / "ledger" / f"{run_id}.jsonl"

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
        with _refused("The decision journal cannot be written"):
            path = self.folder / "decisions.jsonl"
            _append(path, (b"\n" if _is_cut(path) else b"") + line.encode("utf-8") + b"\n")  # a cut line stays, and stays alone

    def decision_lines(self) -> list[str] | None:
        path = self.folder / "decisions.jsonl"
        if not path.exists():
            return None
        with _refused("The decision journal cannot be read"):
            return path.read_text("utf-8", errors="replace").split("\n")

    def keep_snapshot(self, sha256: str, text: str) -> None:
        path = self._snapshot(sha256)
        if path.exists():
            return
        with _refused("The frozen evidence cannot be written"):
            path.parent.mkdir(exist_ok=True)
            aside = path.with_suffix(".part")
            aside.unlink(missing_ok=True)
            _append(aside, text.encode("utf-8"))
            os.replace(aside, path)

    def snapshot(self, sha256: str) -> str | None:
        path = self._snapshot(sha256)
        return path.read_text("utf-8", errors="replace") if path.exists() else None

    def _snapshot(self, sha256: str) -> Path:
        return self.folder / "snapshots" / f"{sha256}.json"


@contextlib.contextmanager
def _refused(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{what}: {error}", hint="Nothing was decided. Free space or fix the rights, then sign again.") from error


def _is_cut(path: Path) -> bool:
    """Whether the file's last line has no end: a write that was cut short."""
    if not path.exists() or path.stat().st_size == 0:
        return False
    with path.open("rb") as handle:
        handle.seek(-1, os.SEEK_END)
        return handle.read(1) != b"\n"


def _append(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
