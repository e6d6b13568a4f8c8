"""Reads of samples, engine starts, recipes and the cells view; exclusions."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from core.ports.store import CellRows, Row
from core.store.database import Database


class DuckCells(CellRows):
    """Cells in DuckDB."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def of_run(self, run_id: str) -> list[Row]:
        return self._db.rows(
            """SELECT c.*, CAST(json_extract(r.request, '$.repetitions') AS INTEGER) AS planned
               FROM cells c JOIN runs r USING (run_id) WHERE run_id = ? AND kind = 'real' ORDER BY c.c, n_max""",
            [run_id],
        )

    def for_matrix(self, model: str | None = None) -> list[Row]:
        rows = self._db.rows(
            """SELECT c.*, CAST(json_extract(r.request, '$.repetitions') AS INTEGER) AS planned,
                      r.request, r.title, r.created_at, t.state, v.placement, q.body AS recipe
               FROM cells c JOIN runs r USING (run_id) JOIN run_state t USING (run_id)
               LEFT JOIN recipes q USING (recipe_id)
               LEFT JOIN (SELECT run_id, n_max, c, any_value(placement ORDER BY server) AS placement FROM servers
                          WHERE purpose = 'sweep' GROUP BY run_id, n_max, c) v
                 ON v.run_id = c.run_id AND v.n_max = c.n_max AND v.c = c.c
               WHERE c.kind = 'real' AND (?::VARCHAR IS NULL OR json_extract_string(r.request, '$.model') = ?)
               ORDER BY r.created_at DESC, c.c, c.n_max""",
            [model, model],
        )
        return [
            {**row, **{name: json.loads(str(row[name])) if row[name] else None for name in ("request", "placement", "recipe")}}
            for row in rows
        ]

    def samples(self, run_id: str, *, n_max: int | None = None, c: int | None = None, kind: str = "real") -> list[Row]:
        return self._db.rows(
            """SELECT s.*, e.reason AS excluded_reason, e.who AS excluded_by FROM samples s LEFT JOIN exclusions e USING (run_id, seq)
               WHERE s.run_id = ? AND s.kind = ? AND (?::INTEGER IS NULL OR s.n_max = ?) AND (?::INTEGER IS NULL OR s.c = ?)
               ORDER BY s.seq""",
            [run_id, kind, n_max, n_max, c, c],
        )

    def servers(self, run_id: str, *, purpose: str | None = "sweep") -> list[Row]:
        rows = self._db.rows(
            "SELECT * FROM servers WHERE run_id = ? AND (?::VARCHAR IS NULL OR purpose = ?) ORDER BY server", [run_id, purpose, purpose]
        )
        return [{**row, "argv": json.loads(str(row["argv"])), "placement": json.loads(str(row["placement"]))} for row in rows]

    def suite_runs(self, run_id: str) -> list[Row]:
        return self._db.rows("SELECT * FROM suite_runs WHERE run_id = ? ORDER BY seq", [run_id])

    def recipe(self, recipe_id: str) -> dict[str, Any] | None:
        rows = self._db.rows("SELECT body FROM recipes WHERE recipe_id = ?", [recipe_id])
        return json.loads(str(rows[0]["body"])) if rows else None

    def exclude(self, row: Row) -> None:
        with self._db.tx() as cursor:
            cursor.execute(
                "INSERT OR IGNORE INTO exclusions VALUES (?, ?, ?, ?, ?)",
                [row[name] for name in ("run_id", "seq", "reason", "who", "noted_at")],
            )

    def telemetry(self, run_id: str) -> list[Row]:
        return self._db.rows("SELECT * FROM telemetry WHERE run_id = ? ORDER BY seq, at_s, gpu", [run_id])

    def keep_gates(self, run_id: str, rules: str, body: dict[str, Any], at: datetime) -> None:
        with self._db.tx(recorded=False) as cursor:
            cursor.execute(
                """INSERT OR IGNORE INTO cell_gates
                   SELECT run_id, ?, last_seq, (SELECT count(*) FROM exclusions e WHERE e.run_id = s.run_id), ?, ?
                   FROM run_state s WHERE run_id = ?""",
                [rules, json.dumps(body), at, run_id],
            )

    def gates(self, rules: str, run_id: str | None = None) -> dict[str, dict[str, Any]]:
        rows = self._db.rows(
            """SELECT g.run_id, g.body FROM cell_gates g JOIN run_state s USING (run_id, last_seq)
               WHERE g.rules = ? AND (?::VARCHAR IS NULL OR g.run_id = ?)
                 AND g.excluded = (SELECT count(*) FROM exclusions e WHERE e.run_id = g.run_id)""",
            [rules, run_id, run_id],
        )
        return {str(row["run_id"]): json.loads(str(row["body"])) for row in rows}
