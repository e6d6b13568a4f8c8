"""Looking after one database file: the port over backups, restoring, making anew, checks and requests."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from core.errors import StoreError
from core.ports.upkeep import Finding, Upkeep
from core.store import backups, requests
from core.store.anew import compared, make, not_recorded
from core.store.copies import remove_database
from core.store.database import Database
from core.store.digests import differing, digests
from core.store.holder import Holder, who_holds
from core.store.ledgers import ledger_findings, record_findings
from core.store.record import HouseRecord
from core.store.soundness import beside, mended, note, open_sound, set_aside, stamp


class DuckUpkeep(Upkeep):
    """`database` None: nothing is open here, and only what needs no open database can be asked for."""

    def __init__(self, path: Path, database: Database | None = None) -> None:
        self.path = path
        self.folder = beside(path)
        self._database = database

    def holder(self) -> dict[str, Any] | None:
        return who_holds(self.folder)

    def back_up(self, to: Path | None, *, kind: str, version: str) -> dict[str, Any]:
        if self._database is None:
            raise StoreError("No database is open here.", title="No backup")
        made = backups.back_up(self._database, self.folder, to, kind=kind, version=version)
        return {
            "backup": made["path"], "kind": kind, "made": made["made"], "rows": sum(one["rows"] for one in made["digests"].values()),
            "files": len(made["files"]), "seq": made["seq"], "sha": made["sha"], "digests": made["digests"],
        }  # fmt: skip

    def backups(self, at: Path | None = None) -> list[dict[str, Any]]:
        return backups.list_backups(at or self.folder / "backups")

    def drop_backup(self, manifest: dict[str, Any]) -> None:
        backups.drop(manifest)

    def prove(self, manifest: dict[str, Any]) -> dict[str, Any]:
        proof = self._against(manifest["digests"], manifest["seq"])
        backups.write_manifest(Path(manifest["path"]).with_suffix(".json"), {**manifest, "proof": proof})
        return proof

    def compare(self) -> dict[str, Any]:
        if self._database is None:
            raise StoreError("No database is open here.", title="Nothing to compare")
        with self._database.still():
            found, head = digests(self._database), self._database.recorded_to()
        return {**self._against(found, head.seq if head else 0), "rows": sum(one["rows"] for one in found.values())}

    def _against(self, found: dict[str, dict[str, Any]], seq: int) -> dict[str, Any]:
        """Digests against those of a database made anew up to the same line: {equal, differing, faults}."""
        fresh = self.path.with_name(f"{self.path.name}.proof")
        try:
            done = make(fresh, HouseRecord(self.folder / "house.jsonl", is_reader=True), self.folder, upto=seq)
            database = Database(fresh)
            try:
                wrong = differing(digests(database), found)
            finally:
                database.close()
        finally:
            remove_database(fresh)
        return {"equal": not wrong, "differing": wrong, "faults": done.faults}

    def restore(self, file: Path) -> dict[str, Any]:
        return backups.restore(self.path, file)

    def rebuild(self, *, replace: bool) -> dict[str, Any]:
        holder = Holder.take(self.folder, self.path.name)
        fresh = self.path.with_name(f"{self.path.name}.anew")
        try:
            record = HouseRecord(self.folder / "house.jsonl")
            if record.is_empty:
                raise StoreError(
                    f"There is no house record beside {self.path.name} yet. Nothing was changed.",
                    title="Nothing to rebuild from",
                    hint="Open the database once with this version: it begins the record.",
                )
            done = make(fresh, record, self.folder)
            found = compared(self.path, fresh, record)
            is_needed = not found["readable"] or found["behind"]
            answer: dict[str, Any] = {
                **found,
                "lines": done.lines,
                "events": done.events,
                "faults": done.faults,
                "replaced": False,
                "aside": None,
            }
            if not found["equal"] and (is_needed or replace):
                answer |= {"replaced": True, "aside": str(set_aside(self.path, self.folder))}
                os.replace(fresh, self.path)
                note(self.folder, "The database was made anew by `rebuild`.", faults=done.faults)
        finally:
            remove_database(fresh)
            holder.release()
        return {**answer, "not_in_the_record": not_recorded()}

    def begin_record(self) -> dict[str, Any]:
        holder = Holder.take(self.folder, self.path.name)
        record = self.folder / "house.jsonl"
        aside = record.with_name(f"house-{stamp()}.jsonl")
        try:
            database = Database(self.path, read_only=True)
            try:
                rows = sum(one["rows"] for one in digests(database).values())
            finally:
                database.close()
            os.replace(record, aside)
        finally:
            holder.release()
        open_sound(self.path).close()
        note(self.folder, f"The house record was begun anew from the rows, as asked. The older one lies in {aside.name}.")
        return {"begun": str(record), "rows": rows, "aside": str(aside)}

    def findings(self, runs: list[dict[str, Any]], *, record: bool = True) -> list[Finding]:
        head = self._database.recorded_to() if self._database is not None else None
        found = record_findings(self.folder, head.seq if head else None) if record else []
        return found + ledger_findings(self.folder, runs)

    def mended(self) -> list[dict[str, Any]]:
        return mended(self.folder)

    def free_bytes(self) -> int:
        return shutil.disk_usage(self.folder).free

    def leave_request(self, verb: str, values: dict[str, Any]) -> str:
        return requests.leave(self.folder, verb, values)

    def requests(self) -> list[dict[str, Any]]:
        return requests.waiting(self.folder)

    def answer(self, request_id: str, answer: dict[str, Any]) -> None:
        requests.answer(self.folder, request_id, answer)

    def answer_of(self, request_id: str) -> dict[str, Any] | None:
        return requests.take_answer(self.folder, request_id)

    def withdraw(self, request_id: str) -> None:
        requests.withdraw(self.folder, request_id)
