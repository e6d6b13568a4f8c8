"""Time as a port: tests move it, the app reads it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime


class Clock(ABC):
    """The wall clock, always with its zone (UTC)."""

    @abstractmethod
    def now(self) -> datetime:
        """The present moment, aware, UTC."""
