"""Names as one small file a handle, `<database>.d/names/<handle>.json`: to erase a name is to remove its file."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

from core.domain.handles import HANDLE, NOT_PEOPLE, new_handle
from core.errors import StoreError
from core.ports.names import KnownName, Names


class FolderNames(Names):
    """The folder, read once: one process at a time holds the database and what lies beside it."""

    def __init__(self, beside: Path) -> None:
        self._folder = beside / "names"
        self._turn = threading.Lock()
        self._known = {one.handle: one for one in map(_read, sorted(self._folder.glob("person-*.json"))) if one}
        self._handles = {(one.subject, one.name): one.handle for one in self._known.values()}

    def handle_of(self, subject: str, name: str) -> str:
        if not subject and name in NOT_PEOPLE:
            return name
        with self._turn:
            found = self._handles.get((subject, name))
            if found is None:
                found = new_handle()
                self._keep(KnownName(found, subject, name))
            return found

    def find(self, handle: str) -> KnownName | None:
        return self._known.get(handle)

    def all(self) -> list[KnownName]:
        return sorted(self._known.values(), key=lambda one: (one.name.casefold(), one.subject, one.handle))

    def erase(self, handle: str) -> bool:
        with self._turn:
            one = self._known.pop(handle, None)
            if one is None:
                return False
            self._handles.pop((one.subject, one.name), None)
            copies = self._folder.parent.glob(f"backups/files/names/{handle}.json*")
            for path in [self._path(handle), *copies]:
                path.unlink(missing_ok=True)
            return True

    def _path(self, handle: str) -> Path:
        return self._folder / f"{handle}.json"

    def _keep(self, one: KnownName) -> None:
        path = self._path(one.handle)
        aside = path.with_suffix(".part")
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                json.dump({"handle": one.handle, "subject": one.subject, "name": one.name}, file, ensure_ascii=True)
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, path)
        except OSError as error:
            raise StoreError(
                f"The name cannot be kept: {error.strerror}. Nothing was recorded.", hint="Free space or fix the rights, then try again."
            ) from error
        self._known[one.handle] = one
        self._handles[one.subject, one.name] = one.handle


def _read(path: Path) -> KnownName | None:
    """The file's content; None for one that cannot be read: its person is shown as erased."""
    try:
        found = json.loads(path.read_text("utf-8"))
        one = KnownName(str(found["handle"]), str(found["subject"]), str(found["name"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return one if HANDLE.fullmatch(one.handle) and one.handle == path.stem else None
