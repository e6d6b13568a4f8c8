"""Reads of samples, engine starts, recipes and the cells view; exclusions."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from core.ports.store import CellRows, Row
from core.store.database import Database

_CELLS_OF_RUNS = """
SELECT c.*, CAST(json_extract(r.request, '$.repetitions') AS INTEGER) AS planned, v.recipes, l.last_position
FROM cells c JOIN runs r USING (run_id)
LEFT JOIN (SELECT run_id, n_max, c, count(DISTINCT recipe_id) AS recipes FROM servers
           WHERE purpose = 'sweep' AND run_id = ANY(?::VARCHAR[]) GROUP BY ALL) v
  ON v.run_id = c.run_id AND v.n_max = c.n_max AND v.c = c.c
LEFT JOIN (SELECT run_id, n_max, c, avg(per_position[-1]) AS last_position FROM samples
           WHERE kind = 'real' AND counted AND status = 'ok' AND len(per_position) > 0 AND run_id = ANY(?::VARCHAR[]) GROUP BY ALL) l
  ON l.run_id = c.run_id AND l.n_max = c.n_max AND l.c = c.c
WHERE c.kind = 'real' AND c.run_id = ANY(?::VARCHAR[]) AND r.run_id = ANY(?::VARCHAR[])
ORDER BY c.run_id, c.c, c.n_max
"""
# Only engine starts, recipes and events are looked at: which rows there are does not depend on what the repetitions say.
_ROW_HEADS = """
WITH recipe AS (
    SELECT recipe_id, json_extract_string(body, '$.engine_build') AS build, json_extract_string(body, '$.engine_commit') AS "commit",
           json_extract_string(body, '$.engine_kind') AS engine_kind, json_extract_string(body, '$.artifact_sha256') AS artifact,
           CAST(json_extract(body, '$.context') AS BIGINT) AS context
    FROM recipes
), start AS (
    SELECT run_id, c, arg_min(recipe_id, n_max * 1000000 + server) AS recipe_id, arg_min(placement, n_max * 1000000 + server) AS place
    FROM servers WHERE purpose = 'sweep' AND (run_id, c) IN (SELECT DISTINCT run_id, c FROM samples WHERE kind = 'real') GROUP BY run_id, c
), driver AS (
    SELECT run_id, any_value(json_extract_string(body, '$.gpus.list[0].driver')) AS driver
    FROM run_events WHERE kind = 'preflight' GROUP BY run_id
), ended AS (
    SELECT s.run_id, s.c, r.box_id AS box, r.created_at AS ran_at, t.state, q.build, q."commit", q.engine_kind,
           q.artifact, q.context, d.driver,
           json_extract_string(r.request, '$.model') AS model, json_extract_string(r.request, '$.workload_id') AS workload,
           json_extract_string(r.request, '$.engine_id') AS engine_id, json_extract_string(s.place, '$.label') AS spill_label,
           json_extract_string(s.place, '$.state') AS spill_state, CAST(json_extract(s.place, '$.n_cpu_moe') AS INTEGER) AS spill_layers,
           CAST(json_extract(s.place, '$.host_mib') AS DOUBLE) AS host_mib,
           CAST(json_extract(s.place, '$.host_share') AS DOUBLE) AS host_share
    FROM start s JOIN runs r USING (run_id) JOIN run_state t USING (run_id)
    LEFT JOIN recipe q USING (recipe_id) LEFT JOIN driver d USING (run_id)
    WHERE t.state IN ('done', 'cancelled', 'failed', 'lost')
), newest_engine AS (
    SELECT box, engine_id, arg_max(build, ran_at) AS build, arg_max("commit", ran_at) AS "commit", max(ran_at) AS ran_at
    FROM ended WHERE build IS NOT NULL OR "commit" IS NOT NULL GROUP BY ALL
), newest_driver AS (
    SELECT box, arg_max(driver, ran_at) AS driver FROM ended WHERE driver IS NOT NULL GROUP BY ALL
), newest_artifact AS (
    SELECT box, model, arg_max(artifact, ran_at) AS artifact FROM ended WHERE artifact IS NOT NULL GROUP BY ALL
), head AS (
    SELECT * FROM ended
    QUALIFY row_number() OVER (
        PARTITION BY model, box, engine_id, engine_kind, build, "commit", spill_label, workload, context, c
        ORDER BY state = 'done' DESC, ran_at DESC, run_id) = 1
)
SELECT h.*, e.build AS newest_build, e."commit" AS newest_commit, g.driver AS newest_driver, a.artifact AS newest_artifact
FROM head h
LEFT JOIN newest_engine e ON e.box = h.box AND e.engine_id IS NOT DISTINCT FROM h.engine_id
LEFT JOIN newest_driver g ON g.box = h.box
LEFT JOIN newest_artifact a ON a.box = h.box AND a.model = h.model
ORDER BY h.ran_at DESC, h.run_id, h.c
"""
_FAILED_STAGES = """
SELECT run_id, CAST(json_extract(body, '$.stage.n_max') AS INTEGER) AS n_max, CAST(json_extract(body, '$.stage.c') AS INTEGER) AS c,
       any_value(json_extract_string(body, '$.reason') ORDER BY seq) AS reason
FROM run_events
WHERE kind = 'stage_done' AND run_id = ANY(?::VARCHAR[]) AND json_extract_string(body, '$.status') = 'failed'
  AND coalesce(json_extract_string(body, '$.stage.kind'), '') NOT IN ('forced-all', 'forced-none', 'suite')  -- these share an arm's n_max
GROUP BY ALL
"""

_DRAFTING_ARMS = """
SELECT DISTINCT v.run_id, r.box_id AS box, json_extract_string(r.request, '$.model') AS model,
       CAST(json_extract(q.body, '$.context') AS BIGINT) AS context,
       json_extract_string(q.body, '$.artifact_sha256') AS artifact, json_extract_string(q.body, '$.draft_artifact') AS draft_artifact,
       json_extract_string(q.body, '$.speculation') AS speculation
FROM servers v JOIN runs r USING (run_id) JOIN recipes q USING (recipe_id)
WHERE v.n_max > 0 AND v.purpose = 'sweep'
  AND (v.run_id, v.n_max) IN (SELECT DISTINCT run_id, n_max FROM samples WHERE kind = 'real' AND status = 'ok')
"""

_ARMS = """
WITH arm AS (
    SELECT s.run_id, s.n_max, any_value(s.recipe_id ORDER BY s.seq) AS recipe_id
    FROM samples s JOIN run_state t USING (run_id) LEFT JOIN exclusions e USING (run_id, seq)
    WHERE s.kind = 'real' AND s.status = 'ok' AND s.counted AND s.temperature = 'warm' AND e.seq IS NULL
      AND s.c = 1 AND t.state = ANY(?::VARCHAR[]) AND (s.n_max > 0) = ? GROUP BY ALL
), place AS (
    SELECT run_id, n_max, any_value(json_extract_string(placement, '$.label') ORDER BY server) AS spill
    FROM servers WHERE purpose = 'sweep' AND c = 1 GROUP BY ALL
)
SELECT a.run_id, a.n_max, json_extract_string(r.request, '$.model') AS model, r.box_id,
       coalesce(json_extract_string(q.body, '$.engine_build'), json_extract_string(q.body, '$.engine_commit')) AS build,
       coalesce(p.spill, 'unknown') AS spill, CAST(json_extract(q.body, '$.context') AS BIGINT) AS context,
       json_extract_string(r.request, '$.workload_id') AS workload, r.title, r.created_at AS "at"
FROM arm a JOIN runs r USING (run_id) LEFT JOIN recipes q USING (recipe_id) LEFT JOIN place p USING (run_id, n_max)
ORDER BY model = ? DESC, r.created_at DESC, a.run_id, a.n_max LIMIT ?
"""
_PAIRED_RUNS = """
WITH mine AS (
    SELECT r.run_id, r.created_at, json_extract_string(r.request, '$.workload_id') AS workload
    FROM runs r JOIN run_state t USING (run_id)
    WHERE t.state = 'done' AND json_extract_string(r.request, '$.model') = ? AND r.box_id = ?
), arm AS (
    SELECT s.run_id, s.n_max, any_value(s.recipe_id ORDER BY s.seq) AS recipe_id
    FROM samples s LEFT JOIN exclusions e USING (run_id, seq)
    WHERE s.kind = 'real' AND s.status = 'ok' AND s.counted AND s.temperature = 'warm' AND e.seq IS NULL
      AND s.run_id IN (SELECT run_id FROM mine) AND s.c = ? AND s.n_max IN (0, ?) GROUP BY ALL
)
SELECT m.run_id, m.workload, json_extract(q.body, '$.placement') AS placement
FROM mine m JOIN arm plain ON plain.run_id = m.run_id AND plain.n_max = 0
JOIN arm spec ON spec.run_id = m.run_id AND spec.n_max = ? JOIN recipes q ON q.recipe_id = spec.recipe_id
WHERE json_extract_string(q.body, '$.engine_build') IS NOT DISTINCT FROM ?::VARCHAR
  AND json_extract_string(q.body, '$.engine_commit') IS NOT DISTINCT FROM ?::VARCHAR
  AND json_extract_string(q.body, '$.artifact_sha256') IS NOT DISTINCT FROM ?::VARCHAR
ORDER BY m.created_at DESC, m.run_id
"""
_WITH_SAME_HEAD = """
WITH arm AS (
    SELECT v.run_id, json_extract_string(q.body, '$.artifact_sha256') AS artifact, json_extract_string(q.body, '$.draft_artifact') AS draft,
           json_extract_string(q.body, '$.speculation') AS speculation, json_extract_string(q.body, '$.engine_build') AS build,
           json_extract_string(q.body, '$.engine_commit') AS "commit"
    FROM servers v JOIN recipes q USING (recipe_id) WHERE v.n_max = ? AND v.purpose = 'sweep'
), mine AS (SELECT * EXCLUDE (run_id) FROM arm WHERE run_id = ? LIMIT 1)
SELECT a.run_id
FROM arm a JOIN mine m ON a.artifact = m.artifact AND a.draft IS NOT DISTINCT FROM m.draft
    AND a.speculation IS NOT DISTINCT FROM m.speculation
    AND a.build IS NOT DISTINCT FROM m.build AND a."commit" IS NOT DISTINCT FROM m."commit"
JOIN runs r ON r.run_id = a.run_id
GROUP BY a.run_id ORDER BY max(r.created_at) DESC, a.run_id LIMIT ?
"""
_PREFILL = """
SELECT s.run_id, s.n_max, s.c, count(s.prefill_tok_per_s) AS n, median(s.prefill_tok_per_s) AS tok_s,
       min(s.prefill_tok_per_s) AS tok_s_min, max(s.prefill_tok_per_s) AS tok_s_max, median(s.ttft_ms) AS ttft_ms
FROM samples s LEFT JOIN exclusions e USING (run_id, seq)
WHERE s.run_id = ANY(?::VARCHAR[]) AND s.kind = 'real' AND s.status = 'ok' AND s.counted AND s.temperature = 'warm' AND e.seq IS NULL
GROUP BY ALL ORDER BY s.run_id, s.c, s.n_max
"""


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

    def of_runs(self, run_ids: list[str]) -> list[Row]:
        return self._db.rows(_CELLS_OF_RUNS, [run_ids, run_ids, run_ids, run_ids])

    def arms(self, *, is_candidate: bool, first_model: str, states: tuple[str, ...], limit: int) -> list[Row]:
        return self._db.rows(_ARMS, [list(states), is_candidate, first_model, limit])

    def paired_runs(self, *, model: str, box_id: str, n_max: int, c: int, recipe: dict[str, Any]) -> list[Row]:
        same = [None if recipe.get(key) is None else str(recipe[key]) for key in ("engine_build", "engine_commit", "artifact_sha256")]
        rows = self._db.rows(_PAIRED_RUNS, [model, box_id, c, n_max, n_max, *same])
        return [{**row, "placement": json.loads(str(row["placement"])) if row["placement"] else None} for row in rows]

    def revision(self) -> int:
        return self._db.writes

    def row_heads(self) -> list[Row]:
        return self._db.rows(_ROW_HEADS)

    def failed_stages(self, run_ids: list[str]) -> list[Row]:
        return self._db.rows(_FAILED_STAGES, [run_ids])

    def suite_scores(self, limit: int = 2000) -> list[Row]:
        return self._db.rows(
            """SELECT u.run_id, u.suite, u.n_max, u.c, u.status, u.reason, u.score, u.noted_at, r.box_id AS box,
                      json_extract_string(r.request, '$.model') AS model
               FROM suite_runs u JOIN runs r USING (run_id) ORDER BY u.noted_at DESC, u.run_id, u.seq LIMIT ?""",
            [limit],
        )

    def drafting_arms(self) -> list[Row]:
        return self._db.rows(_DRAFTING_ARMS)

    def with_same_head(self, run_id: str, n_max: int, limit: int = 20) -> list[str]:
        return [str(row["run_id"]) for row in self._db.rows(_WITH_SAME_HEAD, [n_max, run_id, limit])]

    def prefill(self, run_ids: list[str]) -> list[Row]:
        return self._db.rows(_PREFILL, [run_ids])

    def drifted(self, run_ids: list[str]) -> set[str]:
        rows = self._db.rows(
            """SELECT run_id FROM run_events
               WHERE kind = 'run_finished' AND run_id = ANY(?::VARCHAR[]) AND json_extract_string(body, '$.drifted') = 'true'""",
            [run_ids],
        )
        return {str(row["run_id"]) for row in rows}

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

    def gates(self, rules: str, run_ids: list[str]) -> dict[str, dict[str, Any]]:
        rows = self._db.rows(
            """SELECT g.run_id, g.body FROM cell_gates g JOIN run_state s USING (run_id, last_seq)
               WHERE g.rules = ? AND g.run_id = ANY(?::VARCHAR[])
                 AND g.excluded = (SELECT count(*) FROM exclusions e WHERE e.run_id = g.run_id)""",
            [rules, run_ids],
        )
        return {str(row["run_id"]): json.loads(str(row["body"])) for row in rows}
