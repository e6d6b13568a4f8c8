"""Rows of transcribed figures."""

from __future__ import annotations

import json
from datetime import datetime

from core.ports.store import PublishedRows, Row
from core.store.database import Database, Writing

_COLUMNS = (
    "source", "row_key", "position", "model", "is_moe", "spill_label", "spill_layers", "n_max", "tok_per_s", "accept_share",
    "accept_denominator", "speedup_published", "note",
)  # fmt: skip
_RESULT = {
    "id": "VARCHAR", "position": "INTEGER", "source_url": "VARCHAR", "published": "DATE", "engine": "VARCHAR", "engine_build": "VARCHAR",
    "model": "VARCHAR", "architecture": "VARCHAR", "quant": "VARCHAR", "hardware": "VARCHAR", "placement": "VARCHAR",
    "n_cpu_moe": "INTEGER", "draft_kind": "VARCHAR", "n_max": "INTEGER", "p_min": "DOUBLE", "workload": "VARCHAR",
    "context_tokens": "BIGINT", "concurrency": "INTEGER", "baseline_tok_per_s_min": "DOUBLE", "baseline_tok_per_s_max": "DOUBLE",
    "spec_tok_per_s_min": "DOUBLE", "spec_tok_per_s_max": "DOUBLE", "speedup_published_min": "DOUBLE", "speedup_published_max": "DOUBLE",
    "accept_share_min": "DOUBLE", "accept_share_max": "DOUBLE", "accept_denominator": "VARCHAR", "tokens_per_step_min": "DOUBLE",
    "tokens_per_step_max": "DOUBLE", "repeats": "INTEGER", "note": "VARCHAR", "is_second_hand": "BOOLEAN",
}  # fmt: skip
_INSERT_RESULTS = "INSERT INTO public_results ({}) SELECT {} FROM (SELECT unnest(from_json(?, ?)) AS r)".format(  # noqa: S608 (closed list)
    ", ".join(_RESULT), ", ".join(f"r.{name}" for name in _RESULT)
)


_CELLS = "SELECT {} FROM published_cells WHERE source = ?".format(", ".join(_COLUMNS))  # noqa: S608 (closed list)
_REMARKS = "SELECT source, section, position, body FROM published_remarks WHERE source = ?"


def _held(cursor: Writing, question: str, source: str) -> list[str]:
    """The rows there are, as words that can be compared."""
    return sorted(repr(list(row)) for row in cursor.execute(question, [source]).fetchall())


class DuckPublished(PublishedRows):
    """Published figures in DuckDB."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def replace(self, source: str, cells: list[Row], remarks: list[Row]) -> None:
        rows = [[cell[name] for name in _COLUMNS] for cell in cells]
        said = [[source, remark["section"], position, json.dumps(remark)] for position, remark in enumerate(remarks)]
        with self._db.tx(recorded=False) as cursor:
            if _held(cursor, _CELLS, source) == sorted(map(repr, rows)) and _held(cursor, _REMARKS, source) == sorted(map(repr, said)):
                return
            cursor.execute("DELETE FROM published_cells WHERE source = ?", [source])
            cursor.execute("DELETE FROM published_remarks WHERE source = ?", [source])
            for row in rows:
                cursor.execute("INSERT INTO published_cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            for row in said:
                cursor.execute("INSERT INTO published_remarks VALUES (?, ?, ?, ?)", row)

    def cells(self, model: str | None = None) -> list[Row]:
        return self._db.rows(
            "SELECT * FROM published_cells WHERE ?::VARCHAR IS NULL OR model = ? ORDER BY source, position, n_max", [model, model]
        )

    def remarks(self) -> list[Row]:
        rows = self._db.rows("SELECT source, section, body FROM published_remarks ORDER BY source, position")
        return [{**row, "body": json.loads(str(row["body"]))} for row in rows]

    def load_results(self, sha256: str, rows: list[Row], at: datetime) -> bool:
        """All rows in one statement: hundreds of single inserts would be felt at every first start."""
        if self.has_results(sha256):
            return False
        with self._db.tx(recorded=False) as cursor:
            cursor.execute("DELETE FROM public_results")
            cursor.execute("DELETE FROM public_results_loaded")
            cursor.execute(_INSERT_RESULTS, [json.dumps(rows, default=str, allow_nan=False), json.dumps([_RESULT])])
            cursor.execute("INSERT INTO public_results_loaded VALUES (?, ?, ?)", [sha256, len(rows), at])
        return True

    def has_results(self, sha256: str) -> bool:
        return bool(self._db.rows("SELECT 1 FROM public_results_loaded WHERE sha256 = ?", [sha256]))

    def results(self, *, model: str | None = None) -> list[Row]:
        return self._db.rows("SELECT * FROM public_results WHERE ?::VARCHAR IS NULL OR model = ? ORDER BY position", [model, model])
