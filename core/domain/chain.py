"""The chain of decisions: each entry holds the hash of the one before and of its frozen evidence, so a later change shows.

Entries here have the form their hash is taken over: {number, prev, worksheet_id, verdict, action, owner, reason, at, details,
evidence_sha256} with `evidence` and `sha` beside it. Entries from before `details` existed have none.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from core.domain.recipe import digest

Entry = dict[str, Any]
_SHA = re.compile(r"\b[0-9a-f]{64}\b")


def chained(number: int, prev: str, body: Entry) -> Entry:
    """The ledger entry: `evidence_sha256` over the frozen evidence, `sha` over everything else and the entry before."""
    entry = {
        "number": number,
        "prev": prev,
        **{key: value for key, value in body.items() if key != "evidence"},
        "evidence_sha256": digest(body["evidence"]),
    }
    return {**entry, "evidence": body["evidence"], "sha": digest(entry)}


def problem_at(entry: Entry, position: int, prev: str) -> str:
    """What does not fit at this place of the chain; "" where everything does."""
    bare = {key: value for key, value in entry.items() if key not in ("evidence", "sha")}
    if entry["number"] != position:
        return f"entry {entry['number']} stands where entry {position} belongs"
    if entry["prev"] != prev:
        return f"entry {position} does not follow the entry before it"
    if digest(entry["evidence"]) != entry["evidence_sha256"]:
        return f"the evidence of entry {position} was changed after it was recorded"
    if digest(bare) != entry["sha"]:
        return f"entry {position} was changed after it was recorded"
    return ""


def first_problem(entries: list[Entry]) -> tuple[int | None, str]:
    """(number of the first entry that does not fit, why); (None, "") when the chain holds."""
    prev = ""
    for position, entry in enumerate(entries, 1):
        why = problem_at(entry, position, prev)
        if why:
            return position, why
        prev = entry["sha"]
    return None, ""


def first_broken(entries: list[Entry]) -> int | None:
    """Number of the first entry whose hash, evidence or predecessor does not fit; None when the chain holds."""
    return first_problem(entries)[0]


def entries_in(lines: list[str]) -> list[Entry]:
    """Entries of decisions.jsonl. A line that is no entry (a write that was cut) is left out: what it lacks shows by comparison."""
    found = []
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and isinstance(entry.get("number"), int) and isinstance(entry.get("sha"), str):
            found.append(entry)
    return found


@dataclass(frozen=True)
class Head:
    """A hash that a witness saw, with the number of its entry where the witness says it."""

    sha: str
    number: int | None = None


def heads_in(text: str) -> list[Head]:
    """Chain heads in a witness: a copy of decisions.jsonl, a run's spec or event ledger (`decision_head`), a list of hashes."""
    heads: dict[str, Head] = {}
    for value in _documents(text):
        found = _heads_of(value)
        heads.update({head.sha: head for head in found if head.sha not in heads or head.number is not None})
    return list(heads.values())


def _documents(text: str) -> list[Any]:
    try:
        return [json.loads(text)]
    except ValueError:
        return [_document(line) for line in text.splitlines() if line.strip()]


def _document(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return line


def _heads_of(value: Any) -> list[Head]:
    if isinstance(value, str):
        number = re.match(r"\s*(?:entry\s+)?(\d{1,9})\s", value)
        return [Head(sha, int(number[1]) if number else None) for sha in _SHA.findall(value)]
    if isinstance(value, list):
        return [head for one in value for head in _heads_of(one)]
    if not isinstance(value, dict):
        return []
    if isinstance(value.get("number"), int) and isinstance(value.get("sha"), str):
        return [Head(value["sha"], value["number"])]
    named = [value[key] for key in ("decision_head", "head") if isinstance(value.get(key), str)]
    deeper = [head for one in value.values() if isinstance(one, dict | list) for head in _heads_of(one)]
    return [Head(sha) for sha in named if _SHA.fullmatch(sha)] + deeper


def verified(rows: list[Entry], journal: list[Entry] | None, heads: list[Head] | None) -> dict[str, Any]:
    """{ok, entries, first_bad, why, head, proves}: rows against their own hashes, the journal and a witness.

    `journal` None: no decisions.jsonl; `heads` None: no witness given. `proves`: number of the last entry that the witness saw.
    """
    number, why = first_problem(rows)
    if not why and journal is not None:
        number, why = _against_journal(rows, journal)
    proves = None
    if heads is not None:
        witness, told, proves = _against_heads(rows, heads)
        if not why:
            number, why = witness, told
    if not why and rows and journal is None and heads is None:
        why = "decisions.jsonl is missing and no witness was given, so a lost last entry could not be seen"
    head = rows[-1]["sha"] if rows else ""
    return {"ok": not why, "entries": len(rows), "first_bad": number, "why": why, "head": head, "proves": proves}


def _against_journal(rows: list[Entry], journal: list[Entry]) -> tuple[int | None, str]:
    lines: dict[int, list[Entry]] = {}
    for line in journal:
        lines.setdefault(line["number"], []).append(line)
    for row in rows:
        same = lines.get(row["number"], [])
        if not same:
            return row["number"], f"entry {row['number']} is not in decisions.jsonl"
        if any(line != row for line in same):
            return row["number"], f"entry {row['number']} reads differently in decisions.jsonl"
    lost = sorted(number for number in lines if number > len(rows) or number < 1)
    return (lost[0], f"entry {lost[0]} stands in decisions.jsonl and is not in the database") if lost else (None, "")


def _against_heads(rows: list[Entry], heads: list[Head]) -> tuple[int | None, str, int | None]:
    by_sha = {row["sha"]: row["number"] for row in rows}
    unknown = [head for head in heads if head.sha not in by_sha or head.number not in (None, by_sha[head.sha])]
    proves = max((by_sha[head.sha] for head in heads if head.sha in by_sha), default=None)
    if not unknown:
        return None, "", proves
    first = min(unknown, key=lambda head: head.number or len(rows) + 1)
    number = first.number or len(rows) + 1
    return number, f"the witness saw entry {number} as {first.sha[:12]}…, which the ledger does not hold", proves
