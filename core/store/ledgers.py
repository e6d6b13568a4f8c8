"""Checks the event ledgers and the house record against their own chains and against the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from core.domain.event_lines import read_page
from core.errors import OutputNotUnderstood
from core.ports.upkeep import Finding
from core.store.record import HouseRecord, RecordBroken

REFETCH = "Run `python -m core doctor --mend`: the ledger is fetched again while the box still has it. The rows are kept."


def ledger_findings(folder: Path, runs: list[dict[str, Any]]) -> list[Finding]:
    """One finding a damaged ledger, naming its line. `runs`: {run_id, last_seq, last_sha, read_offset}."""
    return [found for run in runs if run["read_offset"] and (found := _of_run(folder / "ledger" / f"{run['run_id']}.jsonl", run))]


def _of_run(path: Path, run: dict[str, Any]) -> Finding | None:
    name = f"The ledger of run r-{run['run_id'][:4]} ({run['run_id']})"
    try:
        with path.open("rb") as file:
            data = file.read(run["read_offset"])
    except OSError as error:
        return _finding(f"{name} cannot be read: {error.strerror}.")
    fault = first_fault(data)
    if fault:
        return _finding(f"{name}: {fault}")
    if len(data) < run["read_offset"]:
        return _finding(f"{name} has {len(data)} bytes; {run['read_offset']} were stored.")
    page = read_page(data, last_seq=0, last_sha="")
    if (page.last_seq, page.last_sha) != (run["last_seq"], run["last_sha"]):
        return _finding(f"{name} ends at event {page.last_seq} with another hash than the rows say ({run['last_seq']}).")
    return None


def first_fault(data: bytes) -> str | None:
    """The first line that was changed or does not follow, by its number; a torn line that the agent closed itself is none."""
    seq, sha = 0, ""
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        try:
            page = read_page(line, last_seq=seq, last_sha=sha)
        except OutputNotUnderstood as fault:
            return f"line {number}: {fault.message}"
        seq, sha = page.last_seq, page.last_sha
    return None


def record_findings(folder: Path, upto: int | None) -> list[Finding]:
    """The house record's chain, up to a line."""
    try:
        for _ in HouseRecord(folder / "house.jsonl", is_reader=True).lines(upto=upto):
            pass
    except RecordBroken as broken:
        return [
            {
                "about": "ledgers",
                "what": broken.message,
                "todo": "Stop the app, run `python -m core rebuild --begin-record`: the record starts anew from the rows.",
            }
        ]
    return []


def _finding(what: str) -> Finding:
    return {"about": "ledgers", "what": what, "todo": REFETCH}
