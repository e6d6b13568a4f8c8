"""What is not known stays unknown, and a store that does not answer is not called ok."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

from starlette.applications import Starlette

from core.api.routes import routes
from core.services.ingest import sample_row
from core.store.database import Database
from tests.fakes.event_lines import EventLines


def test_a_stream_without_a_duration_is_not_one_of_zero():
    lines = EventLines("ab" * 16)
    stage = {"kind": "step", "n_max": 1, "c": 1, "repetitions": 3, "name": "n=1"}
    lines.sample(stage, 2, 1, None, status="failed", reason="no answer")
    event = json.loads(lines.take())
    event["streams"] = [{"timings": None, "wall_ms": None, "ttft_ms": None}]
    row = sample_row("ab" * 16, event, event, "r")
    unknown = (
        "wall_ms",
        "ttft_ms",
        "tok_per_s",
        "predicted_ms",
        "drafted",
        "accepted",
        "steps",
        "d_ms",
        "per_position",
        "prefill_tok_per_s",
    )
    assert {name: row[name] for name in unknown} == dict.fromkeys(unknown)


def test_healthz_asks_the_store(tmp_path):
    database = Database(tmp_path / "h.duckdb")
    app = Starlette(routes=routes(lambda: SimpleNamespace(house=SimpleNamespace(version="9"), database=database)))
    assert health(app) == {"ok": True, "version": "9", "store": "ok"}
    database.close()
    assert health(app)["store"] == "unavailable"


def health(app):
    sent = []
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/healthz",
        "raw_path": b"/healthz",
        "query_string": b"",
        "headers": [],
        "root_path": "",
    }

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    asyncio.run(
        app({**scope, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2), "scheme": "http", "http_version": "1.1"}, receive, send)
    )
    return json.loads(b"".join(part.get("body", b"") for part in sent))
