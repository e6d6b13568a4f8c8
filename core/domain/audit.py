"""The audit log's chain: each line holds the hash of the one before, so that a change or a gap shows."""

from __future__ import annotations

from typing import Any

from core.domain.recipe import digest


def linked(number: int, prev: str, body: dict[str, Any]) -> dict[str, Any]:
    """The line as it is kept: `body` with number, predecessor and its own hash."""
    line = {"number": number, "prev": prev, **body}
    return {**line, "sha": digest(line)}


def first_broken_line(lines: list[dict[str, Any]]) -> int | None:
    """Number of the first line that does not fit its hash or its predecessor; None when all do. `lines` in order, from 1."""
    prev = ""
    for position, line in enumerate(lines, 1):
        bare = {key: value for key, value in line.items() if key != "sha"}
        if line["number"] != position or line["prev"] != prev or digest(bare) != line["sha"]:
            return position
        prev = line["sha"]
    return None
