"""The audit log's chain: each line holds the hash of the one before, so that a change or a gap shows."""

from __future__ import annotations

import re
from typing import Any

from core.domain.recipe import digest

_HEAD = re.compile(r'"audit_head"\s*:\s*"([0-9a-f]{64})"')


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


def audit_heads_in(text: str) -> set[str]:
    """Hashes of lines that a witness saw last: a run's spec, an export's manifest, a copy of the decisions."""
    return set(_HEAD.findall(text))


def problem_with(lines: list[dict[str, Any]], decisions: list[dict[str, Any]], seen: set[str]) -> tuple[int | None, str]:
    """Holds the audit log against what decisions and witnesses saw of it: (number of the decision or None, why); (None, "") where it fits.

    Each decision names the last line of its moment, so that role changes, pinned keys and overrides before it stand in its chain.
    """
    shas, broken = {line["number"]: line["sha"] for line in lines}, first_broken_line(lines)
    for entry in decisions:
        details = entry.get("details") or {}
        number, sha = details.get("audit_line"), details.get("audit_head")
        if number and (shas.get(number) != sha or (broken is not None and broken <= number)):
            at = broken if broken is not None and broken <= number else number
            return entry["number"], f"line {at} of the audit log, which entry {entry['number']} had seen, was changed or is missing"
    if seen - set(shas.values()):
        return None, "the audit log does not hold a line that the witness saw"
    return None, ""
