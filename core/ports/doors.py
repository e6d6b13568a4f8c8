"""What the doors keep: people, API tokens, the audit log. Rows in, rows out; nothing is updated or deleted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime
from typing import Any

Row = dict[str, Any]


class PeopleRows(ABC):
    """People as the identity provider names them, and what they may do here."""

    @abstractmethod
    def put(self, row: Row) -> None:
        """A further entry of a person: key, name, role, is_disabled, who, noted_at; the newest counts."""

    @abstractmethod
    def get(self, key: str) -> Row | None:
        """The entry that counts."""

    @abstractmethod
    def all(self) -> list[Row]:
        """The entries that count, by name."""


class TokenRows(ABC):
    """Tokens of the API, by the hash of their secret."""

    @abstractmethod
    def add(self, row: Row) -> None:
        """A new token."""

    @abstractmethod
    def end(self, token_id: str, *, who: str, at: datetime) -> None:
        """Revokes it; a second time changes nothing."""

    @abstractmethod
    def get(self, token_id: str) -> Row | None:
        """The token with `revoked_at` and `revoked_by`, None where it stands."""

    @abstractmethod
    def all(self) -> list[Row]:
        """Tokens, newest first."""


class AuditRows(ABC):
    """The audit log: a chain that only grows."""

    @abstractmethod
    def append(self, body: Row) -> Row:
        """Adds the next line (noted_at, actor, name, via, action, object, outcome, detail) and returns it as kept."""

    @abstractmethod
    def newest(self, limit: int = 500) -> list[Row]:
        """Lines, newest first."""

    @abstractmethod
    def head(self) -> tuple[int, str]:
        """Number and hash of the last line; (0, "") before the first."""

    @abstractmethod
    def all(self) -> list[Row]:
        """Every line in order, as recorded: people by their handles."""
