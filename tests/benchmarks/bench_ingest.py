"""Ingest of a backlog against the store's own bulk insert of the same rows: at least 0.3 of its rate."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from core.ports.batch import Batch
from core.store.open import open_store

EVENTS, PAGE, LEAST = 100_000, 3000, 0.3
AT = datetime(2026, 11, 29, tzinfo=UTC)


def main() -> int:
    """Prints both rates; 1 below the target."""
    with tempfile.TemporaryDirectory() as folder:
        database, store = open_store(Path(folder) / "b.duckdb")
        row = {"run_id": "ab" * 16, "box_id": "b", "worksheet_id": None, "title": "t", "request": {}, "requested_by": "A", "created_at": AT}
        store.runs.insert({**row, "state": "running"})
        events = [{"seq": seq, "kind": "note", "noted_at": AT, "body": {"text": "x" * 120, "seq": seq}} for seq in range(1, EVENTS + 1)]
        begun = time.perf_counter()
        for start in range(0, EVENTS, PAGE):
            part = events[start : start + PAGE]
            store.runs.ingest(Batch(row["run_id"], start + len(part), part[-1]["seq"], "s", part))
        ours = EVENTS / (time.perf_counter() - begun)
        begun = time.perf_counter()
        values = [("cd" * 16, event["seq"], event["kind"], event["noted_at"], json.dumps(event["body"])) for event in events]
        frame = pd.DataFrame(values, columns=["a", "b", "c", "d", "e"])
        with database.reader() as cursor:
            cursor.register("frame", frame)
            cursor.execute("INSERT INTO run_events SELECT * FROM frame")
        bulk = EVENTS / (time.perf_counter() - begun)
        database.close()
    print(f"ingest: {ours:,.0f} events/s, bulk insert of the same rows: {bulk:,.0f}/s, ratio {ours / bulk:.2f} (at least {LEAST})")
    return int(ours / bulk < LEAST)


if __name__ == "__main__":
    sys.exit(main())
