"""Makes a database anew from the house record and the event ledgers beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.domain.event_lines import event_row, read_page
from core.errors import OutputNotUnderstood, StoreError
from core.store.database import Database, Writing
from core.store.events import event_rows
from core.store.migrations import apply_one, apply_pending, available
from core.store.record import START, Head, HouseRecord, RecordBroken

_AT_ONCE = 200


@dataclass
class Replayed:
    """What a replay did: lines of the record, events from ledgers, and what could not be had (empty: everything).

    `is_broken`: the record could not be followed to its end; `at` is where it stopped.
    """

    lines: int = 0
    events: int = 0
    at: Head = START
    is_broken: bool = False
    faults: list[str] = field(default_factory=list)


def replay(database: Database, record: HouseRecord, ledgers: Path, *, after: Head = START, upto: int | None = None) -> Replayed:
    """Does the record's lines behind `after` again, in their order. A broken record is followed up to its last whole line."""
    done, waiting = Replayed(at=after), []
    try:
        for line in record.lines(after=after, upto=upto):
            waiting.append(line)
            if len(waiting) >= _AT_ONCE or any("migration" in note or "base" in note for note in line["notes"]):
                _apply(database, waiting, ledgers, done)
                waiting = []
    except RecordBroken as broken:
        done.is_broken = True
        done.faults.append(f"{broken.message} Nothing after it could be taken.")
    _apply(database, waiting, ledgers, done)
    return done


def forward_one(database: Database, line: dict[str, Any], ledgers: Path) -> Replayed:
    """The one line that a stop left between record and database."""
    done = Replayed()
    _apply(database, [line], ledgers, done)
    return done


def _apply(database: Database, lines: list[dict[str, Any]], ledgers: Path, done: Replayed) -> None:
    """A group of lines as one transaction. A migration stands last in its group and goes into the next transaction, as it did at first."""
    if not lines:
        return
    *_, last = lines
    schema = next((note for note in last["notes"] if "migration" in note or "base" in note), None)
    head = Head(last["seq"], last["sha"])
    if schema is not None:
        _apply(database, lines[:-1], ledgers, done)
        if "base" in schema and schema["base"]:
            apply_pending(database, upto=schema["base"])
        with database.tx(recorded=False) as writing:
            if "migration" in schema:
                apply_one(writing, *_file_of(schema["migration"]))
            _rows_of([last], writing, ledgers, done)
            writing.execute("UPDATE house_cursor SET seq = ?, sha = ?", [head.seq, head.sha])
    else:
        with database.tx(recorded=False) as writing:
            _rows_of(lines, writing, ledgers, done)
            writing.execute("UPDATE house_cursor SET seq = ?, sha = ?", [head.seq, head.sha])
    done.at = head
    done.lines += 1 if schema is not None else len(lines)


def _file_of(number: int) -> tuple[int, Path]:
    known = dict(available())
    if number not in known:
        raise StoreError(
            f"The house record was written by a newer version (schema {number}). Nothing was changed.", hint="Start the newer version."
        )
    return number, known[number]


def _rows_of(lines: Iterable[dict[str, Any]], writing: Writing, ledgers: Path, done: Replayed) -> None:
    for line in lines:
        for note in line["notes"]:
            if "ledger" in note:
                rows = _events(ledgers, note, done)
                writing.execute_from(note, [event_rows(note["ledger"], rows)] if rows else [])
                done.events += len(rows)
        for sql, many in line["do"]:
            writing.executemany(sql, many)


def _events(ledgers: Path, note: dict[str, Any], done: Replayed) -> list[dict[str, Any]]:
    """The events of a piece of a ledger, each checked against the one before. What is missing is said, the rest is taken."""
    run_id, start, end = note["ledger"], note["from"], note["to"]
    path = ledgers / f"{run_id}.jsonl"
    try:
        with path.open("rb") as file:
            file.seek(start)
            data = file.read(end - start)
        page = read_page(data, last_seq=note["seq"], last_sha=note["sha"])
    except (OSError, OutputNotUnderstood) as fault:
        done.faults.append(f"Ledger of run {run_id[:6]}, bytes {start} to {end}: {getattr(fault, 'message', fault)}")
        return []
    if len(data) != end - start or page.consumed != len(data):
        done.faults.append(f"Ledger of run {run_id[:6]} ends at byte {start + len(data)}; {end} were stored.")
    return [event_row(event) for event in page.events]
