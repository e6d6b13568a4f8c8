"""How events become rows, at ingest and at a rebuild: one statement a page; single inserts would take minutes for a backlog."""

from __future__ import annotations

import json
from typing import Any

_ROWS = """INSERT OR IGNORE INTO run_events
    SELECT ?, unnest(?::BIGINT[]), unnest(?::VARCHAR[]), unnest(?::TIMESTAMPTZ[]), unnest(?::VARCHAR[])"""


def event_rows(run_id: str, rows: list[dict[str, Any]]) -> tuple[str, list[Any]]:
    """Statement and parameters for {seq, kind, noted_at, body} rows; those already there are left as they are."""
    columns = [[row["seq"] for row in rows], [row["kind"] for row in rows], [row["noted_at"] for row in rows]]
    return _ROWS, [run_id, *columns, [json.dumps(row["body"]) for row in rows]]
