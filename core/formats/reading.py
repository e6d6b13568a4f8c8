"""What a reader gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Reading:
    """One input, read. `values` has every key of its kind (units in the key's name, None: cannot be known from the input).

    `warnings` are sentences about figures that contradict each other or about parts that were left out.
    """

    kind: str
    values: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """One flat object: `kind`, the keys of the kind, `warnings`."""
        return {"kind": self.kind, **self.values, "warnings": list(self.warnings)}
