"""What one poll of a run brings, as it is handed to the store."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]


@dataclass
class Batch:
    """What one poll of a run brings: written in one transaction together with the new offset.

    `lease`: token of the worker that took it in; "" where no other worker can be there."""

    run_id: str
    offset: int
    last_seq: int
    last_sha: str
    events: list[Row] = field(default_factory=list)
    recipes: dict[str, dict[str, Any]] = field(default_factory=dict)
    servers: list[Row] = field(default_factory=list)
    samples: list[Row] = field(default_factory=list)
    suite_runs: list[Row] = field(default_factory=list)
    lease: str = ""
