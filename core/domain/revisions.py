"""Revisions of a worksheet's typed values: which one counts, what changed when and by whom, and what waits to be merged.

An entry is {entry (number), field, side, value, typed_by, noted_at, over_entry, is_set_aside}, oldest first.
"""

from __future__ import annotations

from typing import Any

from core.domain.worksheet import EXTRA_FIELDS, FIELDS

Entry = dict[str, Any]
Place = tuple[str, str]


def place_of(entry: Entry) -> Place:
    """Field and side."""
    return entry["field"], entry["side"]


def current(entries: list[Entry]) -> dict[Place, Entry]:
    """The newest entry of each field and side; those set aside do not count."""
    return {place_of(entry): entry for entry in entries if not entry.get("is_set_aside")}


def to_merge(entries: list[Entry], who: str) -> list[dict[str, Any]]:
    """What this person typed while somebody else saved, and has not merged since: {mine, theirs, base}; base None: there was nothing.

    Merged means: the person saved that field and side again, whatever the outcome.
    """
    by_number = {entry["entry"]: entry for entry in entries}
    standing, waiting = current(entries), {}
    for entry in entries:
        if entry["typed_by"] != who:
            continue
        if entry.get("is_set_aside"):
            waiting[place_of(entry)] = entry
        else:
            waiting.pop(place_of(entry), None)
    return [
        {"mine": mine, "theirs": standing[place], "base": by_number.get(mine["over_entry"] or 0)}
        for place, mine in waiting.items()
        if place in standing
    ]


def history(entries: list[Entry]) -> list[dict[str, Any]]:
    """Every revision, newest first: {entry, place (in words), old, new (texts), who, at, is_set_aside, origin ("": typed here)}."""
    before: dict[Place, Entry] = {}
    found = []
    for entry in entries:
        place = place_of(entry)
        found.append(
            {
                "entry": entry["entry"],
                "place": place_words(*place),
                "old": words_of(before[place]["value"]) if place in before else "",
                "new": words_of(entry["value"]),
                "who": entry["typed_by"],
                "at": entry["noted_at"],
                "is_set_aside": bool(entry.get("is_set_aside")),
                "origin": entry.get("note") or "",
            }
        )
        if not entry.get("is_set_aside"):
            before[place] = entry
    return found[::-1]


def place_words(field: str, side: str) -> str:
    """“tool suite, baseline”, “note on n_max”."""
    label = FIELDS.get(field) or EXTRA_FIELDS.get(field, field)
    if field in EXTRA_FIELDS and side != "baseline":
        return label if side == "note" else f"{label}, {side}"
    return f"note on {label}" if side == "note" else f"{label}, {side}"


def words_of(value: Any) -> str:
    """A typed value as one text, for history and merge views."""
    if isinstance(value, dict) and "scores" in value:
        return f"{value['suite']}: {', '.join(f'{score:g}' for score in value['scores'])} (band ±{value['band']:g})"
    if isinstance(value, dict) and "run_id" in value:
        return f"n_max {value['n_max'] or 'off'} of run {value['run_id'][:4]}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {one:.0%}" if isinstance(one, float) else f"{name} {one}" for name, one in value.items())
    return str(value)
