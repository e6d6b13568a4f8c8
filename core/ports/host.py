"""What a place where commands run has to offer: this machine or one behind SSH. No engine or run knowledge here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Completed:
    """A command that ended: exit code (never guessed: a lost link or a signal raises instead), raw output."""

    rc: int
    out: bytes
    err: bytes


class Host(ABC):
    """Raises BoxUnreachable, HostKeyUnknown, HostKeyChanged, AccessRefused, CommandFailed, RemoteTimeout; never library errors."""

    has_sessions = False

    def forgive(self) -> bool:
        """A person asks again: sign-ins that were refused before do not hold the next call back. Whether they did."""
        return False

    @abstractmethod
    def run(self, argv: list[str], *, deadline_s: float = 30.0, stdin: bytes = b"") -> Completed:
        """Runs an argument list (no shell syntax), output capped at 1 MiB. A code other than 0 is returned, not raised."""

    @abstractmethod
    def home(self) -> str:
        """Absolute home folder of the user on the host."""

    @abstractmethod
    def make_folder(self, path: str) -> None:
        """Creates a folder (mode 0700) and its parents; an existing one is fine."""

    @abstractmethod
    def put(self, data: bytes, path: str) -> None:
        """Writes a file whole: side name, size checked, renamed over the target. Mode 0600."""

    @abstractmethod
    def read(self, path: str, offset: int, limit: int) -> bytes:
        """At most `limit` bytes from `offset`; b"" at or past the end. Raises FileNotFoundError for a missing file."""

    @abstractmethod
    def size(self, path: str) -> int | None:
        """Bytes in the file, None when it does not exist."""

    def link(self) -> dict[str, Any] | None:
        """How the connection is kept safe: {host_key_type, kex, cipher, is_strict_kex}; None where there is none."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Gives connections back; the next call opens them again."""
