"""The key that signs the cookies of the local door: 32 random bytes in a file that only its owner reads."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from core.errors import StoreError

_BYTES = 32


def secret_key(path: Path) -> bytes:
    """The key of that file, made at first use. One that others can read or that is too short is replaced: browsers sign in again."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mode & 0o077 == 0 and len(key := path.read_bytes()) == _BYTES:
                return key
            path.unlink()
        key = secrets.token_bytes(_BYTES)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(key)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}.", hint="Check the rights and the free space of the data folder.") from error
    return key
