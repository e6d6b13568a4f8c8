"""Names of people, apart from everything that is chained: a handle for each, which stands in decisions, audit log and people list."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass


@dataclass(frozen=True)
class KnownName:
    """`subject`: issuer and subject, `local:<user>` or "" for somebody who was only named."""

    handle: str
    subject: str
    name: str

    @property
    def label(self) -> str:
        """The name; for somebody who gave none, who they are to the system."""
        return self.name or self.subject


class Names(ABC):
    """The side table. It is not part of the house record: what is erased here is gone."""

    @abstractmethod
    def handle_of(self, subject: str, name: str) -> str:
        """The handle of that person under that name, made when there is none; a word that is nobody's name stays as it is.

        Raises StoreError where it cannot be kept.
        """

    @abstractmethod
    def find(self, handle: str) -> KnownName | None:
        """Who it stands for; None where the name was erased."""

    @abstractmethod
    def all(self) -> list[KnownName]:
        """Every name that is kept, by name."""

    @abstractmethod
    def erase(self, handle: str) -> bool:
        """Removes the name here and from the copies of the own backups; False when there was none."""

    def name_of(self, handle: str) -> str | None:
        """The name alone."""
        known = self.find(handle)
        return known.name if known else None
