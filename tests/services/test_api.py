"""The JSON door: the matrix as it was, and with the results published elsewhere under their own key when asked."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import pytest
from starlette.applications import Starlette

from core.api.routes import routes
from core.services.imports import import_files
from core.services.matrix import matrix_rows
from tests.services.test_imports import PAIR


@pytest.fixture
def ask(house):
    app = Starlette(routes=routes(lambda: SimpleNamespace(house=house)))

    def ask_(query, client="127.0.0.1"):
        scope = {
            "type": "http", "method": "GET", "path": "/api/v1/matrix", "raw_path": b"/api/v1/matrix", "query_string": query.encode(),
            "headers": [], "client": (client, 1), "server": ("127.0.0.1", 2), "scheme": "http", "root_path": "", "http_version": "1.1",
        }  # fmt: skip
        sent = []

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            sent.append(message)

        asyncio.run(app(scope, receive, send))
        return sent[0]["status"], json.loads(b"".join(part.get("body", b"") for part in sent))

    return ask_


def test_default_answer_is_unchanged_and_published_come_when_asked(house, ask):
    code, plain = ask("")
    assert code == 200 and set(plain) == {"rows"} and plain["rows"] == json.loads(json.dumps(matrix_rows(house)))
    code, wider = ask("published=1")
    assert code == 200 and set(wider) == {"rows", "published"} and wider["rows"] == plain["rows"] and len(wider["published"]) == 436
    assert set(ask("published=0")[1]) == {"rows"}
    assert len(ask("published=1&model=GLM-4.7-Flash")[1]["published"]) == 18
    assert ask("published=1", client="192.0.2.7")[0] == 401


def test_imported_rows_are_asked_for_by_provenance(house, ask):
    import_files(house, [("run.log", PAIR)], who="Ada")
    code, found = ask("provenance=imported")
    assert code == 200 and [row["file"]["name"] for row in found["rows"]] == ["run.log"] and found["rows"][0]["run_id"] is None
    assert ask("provenance=nonsense")[0] == 422
