"""Requests to whoever holds the database, as files in `asked/`: only the folder's owner can leave one."""

from __future__ import annotations

import json
import os
import re
import secrets
from pathlib import Path
from typing import Any

_ID = re.compile(r"[0-9a-f]{16}")


def leave(folder: Path, verb: str, values: dict[str, Any]) -> str:
    """A new request; its id."""
    request_id = secrets.token_hex(8)
    _write(folder / "asked" / f"{request_id}.json", {"id": request_id, "verb": verb, "values": values})
    return request_id


def waiting(folder: Path) -> list[dict[str, Any]]:
    """Requests nobody has answered, oldest first."""
    place = folder / "asked"
    if not place.is_dir():
        return []
    files = [path for path in place.glob("*.json") if _ID.fullmatch(path.stem) and not path.with_suffix(".answer").exists()]
    return [json.loads(path.read_text("utf-8")) for path in sorted(files, key=lambda path: path.stat().st_mtime_ns)]


def answer(folder: Path, request_id: str, found: dict[str, Any]) -> None:
    """The answer beside the request; a request that was withdrawn meanwhile gets none."""
    if (folder / "asked" / f"{request_id}.json").exists():
        _write(folder / "asked" / f"{request_id}.answer", found)


def take_answer(folder: Path, request_id: str) -> dict[str, Any] | None:
    """The answer, once; None until it is there."""
    path = folder / "asked" / f"{request_id}.answer"
    if not path.exists():
        return None
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    withdraw(folder, request_id)
    path.unlink(missing_ok=True)
    return found


def withdraw(folder: Path, request_id: str) -> None:
    """Takes a request away."""
    (folder / "asked" / f"{request_id}.json").unlink(missing_ok=True)


def _write(path: Path, found: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    aside = path.with_name(f"{path.name}.part")
    aside.write_text(json.dumps(found, default=str), "utf-8")
    os.replace(aside, path)
