"""Rows of runs: what was asked, state, events, raw files; and the one transaction that takes in what a box reported."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from core.ports.batch import Batch
from core.ports.run_rows import RunRows
from core.ports.store import Row
from core.store.database import Database
from core.store.events import event_rows

_STATE_COLUMNS = ("state", "note", "problem", "unreachable_since", "reached_at", "cancel_by", "cancel_at", "ended_at")
_SET = {name: "UPDATE run_state SET {} = ? WHERE run_id = ?".format(name) for name in _STATE_COLUMNS}  # noqa: S608 UP032 (closed list)
_PASSING = {"reached_at"}  # a look that found nothing new
_SELECT = """SELECT r.*, s.* EXCLUDE (run_id), p.spec FROM runs r JOIN run_state s USING (run_id) LEFT JOIN run_specs p USING (run_id)"""
_SAMPLE_COLUMNS = (
    "run_id", "seq", "server", "recipe_id", "stage", "n_max", "c", "repetition", "temperature", "counted", "kind", "status", "reason",
    "tok_per_s", "client_tok_per_s", "ttft_ms", "prefill_tok_per_s", "wall_ms", "decode_tokens", "predicted_ms", "prompt_n", "prompt_ms",
    "drafted", "accepted", "steps", "per_position", "d_ms", "prompt_ids", "text_sha256", "noted_at", "provenance",
)  # fmt: skip
_INSERT_SAMPLE = "INSERT OR IGNORE INTO samples ({}) VALUES ({})".format(  # noqa: S608 (names from the closed list above)
    ", ".join(_SAMPLE_COLUMNS), ", ".join("?" * len(_SAMPLE_COLUMNS))
)

_SUITE_COLUMNS = (
    "run_id", "seq", "suite", "n_max", "c", "run", "status", "reason", "score", "exit_code", "took_s", "output", "errors", "noted_at",
)  # fmt: skip
_INSERT_SUITE_RUN = "INSERT OR IGNORE INTO suite_runs ({}) VALUES ({})".format(  # noqa: S608 (names from the closed list above)
    ", ".join(_SUITE_COLUMNS), ", ".join("?" * len(_SUITE_COLUMNS))
)


_LEASED = "SELECT 1 FROM ingest_leases WHERE run_id = ? AND token = ?"


def _decoded(row: Row, *columns: str) -> Row:
    return {**row, **{name: json.loads(row[name]) if row.get(name) is not None else None for name in columns}}


class DuckRuns(RunRows):
    """Runs in DuckDB."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def insert(self, row: Row) -> bool:
        with self._db.tx() as cursor:
            if cursor.execute("SELECT 1 FROM runs WHERE run_id = ?", [row["run_id"]]).fetchone():
                return False
            names = ("run_id", "box_id", "worksheet_id", "title", "request", "requested_by", "created_at")
            values = [json.dumps(row[name]) if name == "request" else row[name] for name in names]
            cursor.execute(
                "INSERT INTO runs (run_id, box_id, worksheet_id, title, request, requested_by, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
                values,
            )
            cursor.execute(
                "INSERT INTO run_state (run_id, state, note, read_offset, last_seq, last_sha) VALUES (?, ?, ?, 0, 0, '')",
                [row["run_id"], row["state"], row.get("note", "")],
            )
        return True

    def get(self, run_id: str) -> Row | None:
        rows = self._db.rows(_SELECT + " WHERE r.run_id = ?", [run_id])
        return _decoded(rows[0], "request", "spec", "problem") if rows else None

    def find(self, *, worksheet_id: str | None = None, states: tuple[str, ...] | None = None, limit: int = 500) -> list[Row]:
        rows = self._db.rows(
            _SELECT + " WHERE (?::VARCHAR IS NULL OR r.worksheet_id = ?) AND (?::VARCHAR[] IS NULL OR s.state = ANY(?::VARCHAR[]))"
            " ORDER BY r.created_at DESC, r.run_id LIMIT ?",
            [worksheet_id, worksheet_id, list(states) if states else None, list(states) if states else None, limit],
        )
        return [_decoded(row, "request", "spec", "problem") for row in rows]

    def set_spec(self, run_id: str, spec: dict[str, Any], at: datetime) -> None:
        with self._db.tx() as cursor:
            cursor.execute("INSERT OR IGNORE INTO run_specs VALUES (?, ?, ?)", [run_id, json.dumps(spec), at])

    def set_state(self, run_id: str, **columns: Any) -> None:
        unknown = set(columns) - set(_STATE_COLUMNS)
        if unknown:
            raise ValueError(f"not a state column: {sorted(unknown)}")
        with self._db.tx(recorded=not set(columns) <= _PASSING) as cursor:
            for name, value in columns.items():
                stored = json.dumps(value) if name == "problem" and value is not None else value
                cursor.execute(_SET[name], [stored, run_id])

    def reorder(self, run_ids: list[str]) -> None:
        with self._db.tx() as cursor:
            for place, run_id in enumerate(run_ids, 1):
                cursor.execute("UPDATE run_state SET queue_place = ? WHERE run_id = ? AND state = 'queued'", [place, run_id])

    def take_lease(self, run_id: str, token: str, *, now: datetime, until: datetime) -> bool:
        with self._db.tx(recorded=False) as cursor:
            held = cursor.execute("SELECT token, expires_at FROM ingest_leases WHERE run_id = ?", [run_id]).fetchone()
            if held is not None and held[0] not in (token, "") and held[1] > now:
                return False
            if held is None:
                cursor.execute("INSERT INTO ingest_leases VALUES (?, ?, ?)", [run_id, token, until])
            else:
                cursor.execute("UPDATE ingest_leases SET token = ?, expires_at = ? WHERE run_id = ?", [token, until, run_id])
        return True

    def end_lease(self, run_id: str, token: str) -> None:
        with self._db.tx(recorded=False) as cursor:
            cursor.execute("UPDATE ingest_leases SET token = '' WHERE run_id = ? AND token = ?", [run_id, token])

    def ingest(self, batch: Batch) -> bool:
        run_id = batch.run_id
        with self._db.tx() as cursor:
            if batch.lease and not cursor.execute(_LEASED, [run_id, batch.lease]).fetchone():
                return False
            known = cursor.execute("SELECT read_offset, last_seq, last_sha FROM run_state WHERE run_id = ?", [run_id]).fetchone()
            if known is not None and known[0] >= batch.offset:
                return True  # somebody else took this page in meanwhile
            start, seq, sha = known or (0, 0, "")
            note = {"ledger": run_id, "from": start, "to": batch.offset, "seq": seq, "sha": sha}
            cursor.execute_from(note, [event_rows(run_id, batch.events)] if batch.events else [])
            for recipe_id, body in batch.recipes.items():
                cursor.execute("INSERT OR IGNORE INTO recipes VALUES (?, ?)", [recipe_id, json.dumps(body)])
            for server in batch.servers:
                argv, placement = json.dumps(server["argv"]), json.dumps(server["placement"])
                values = [run_id, server["server"], server["n_max"], server["c"], server["recipe_id"], argv, placement, server["load_s"]]
                values.append(server.get("purpose", "sweep"))
                cursor.execute("INSERT OR IGNORE INTO servers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
            if batch.samples:
                cursor.executemany(_INSERT_SAMPLE, [[sample[name] for name in _SAMPLE_COLUMNS] for sample in batch.samples])
            for row in batch.suite_runs:
                cursor.execute(_INSERT_SUITE_RUN, [row[name] for name in _SUITE_COLUMNS])
            cursor.execute(
                "UPDATE run_state SET read_offset = ?, last_seq = ?, last_sha = ? WHERE run_id = ?",
                [batch.offset, batch.last_seq, batch.last_sha, run_id],
            )
        return True

    def events(self, run_id: str, *, kinds: tuple[str, ...] | None = None) -> list[Row]:
        wanted = list(kinds) if kinds else None
        rows = self._db.rows(
            "SELECT seq, kind, noted_at, body FROM run_events"
            " WHERE run_id = ? AND (?::VARCHAR[] IS NULL OR kind = ANY(?::VARCHAR[])) ORDER BY seq",
            [run_id, wanted, wanted],
        )
        return [_decoded(row, "body") for row in rows]

    def add_raw_file(self, row: Row) -> None:
        names = ("run_id", "name", "sha256", "bytes", "stored_as", "noted_at")
        with self._db.tx() as cursor:
            cursor.execute("INSERT OR IGNORE INTO raw_files VALUES (?, ?, ?, ?, ?, ?)", [row[name] for name in names])

    def raw_files(self, run_id: str) -> list[Row]:
        return self._db.rows("SELECT * FROM raw_files WHERE run_id = ? ORDER BY name", [run_id])

    def retire(self, row: Row) -> None:
        values = [row[name] for name in ("run_id", "what", "name", "days", "noted_at")]
        with self._db.tx() as cursor:
            cursor.execute("INSERT OR IGNORE INTO retired (run_id, what, name, days, noted_at) VALUES (?, ?, ?, ?, ?)", values)

    def retired(self, run_id: str | None = None) -> list[Row]:
        return self._db.rows("SELECT * FROM retired WHERE ?::VARCHAR IS NULL OR run_id = ? ORDER BY noted_at", [run_id, run_id])
