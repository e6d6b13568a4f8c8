"""Everything as it is stored, table by table, to be taken along."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

Row = dict[str, Any]


class TableRows(ABC):
    """Everything as it is stored, to be taken along."""

    @abstractmethod
    def names(self) -> list[str]:
        """Names of tables and views."""

    @abstractmethod
    def rows(self, name: str) -> list[Row]:
        """All rows of one; raises NotFound."""

    @abstractmethod
    def to_parquet(self, name: str, path: Path) -> None:
        """Writes one as a Parquet file; raises NotFound, StoreError."""
