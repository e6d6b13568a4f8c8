"""A house over a real database and a scripted box."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.bootstrap import build
from core.config import Settings
from core.domain.run import new_run_id
from core.services import runs
from tests.fakes.begun_house import put_begun_house
from tests.fakes.bench_box import ScriptedBox

HELP = """
-m,    --model FNAME   model
-c,    --ctx-size N    context
-np,   --parallel N    slots
--host HOST            address
--port PORT            port
--api-key KEY          key
--metrics              metrics
-lv,   --verbosity N   log
--spec-type none|draft-mtp   types
--spec-draft-n-max N   draft
"""
HEADER = {"architecture": "glm4moe", "block_count": 3, "expert_count": 2, "leading_dense_block_count": 2, "nextn_predict_layers": 1}
PROBE = {
    "engines": [{"id": "embedded", "ok": True, "version_text": "version: 11549 (abcdef12)", "help_text": HELP, "error": None}],
    "models": [{"name": "made-dense", "path": "/m.gguf", "size_bytes": 1, "mtime": 0, "header": HEADER, "error": None}],
}
REQUEST = {"title": "t", "box_id": "this-machine", "engine_id": "embedded", "model": "made-dense", "workload_id": "chat-short", "n_max": 2}


@pytest.fixture
def box():
    return ScriptedBox(PROBE)


@pytest.fixture
def settings(tmp_path):
    return Settings(db=tmp_path / "t.duckdb", local_dir=tmp_path / "local")


@pytest.fixture
def house(box, settings):
    put_begun_house(settings.db)
    services = build(settings)
    yield replace(services.house, open_box=lambda _: box, make_model=lambda name, progress: settings.local_dir)
    services.database.close()
    services.jobs.close()


@pytest.fixture
def start(house):
    def go(**changes):
        run_id = new_run_id()
        assert runs.start_run(house, run_id, {**REQUEST, **changes}, who="Ada") is True
        return run_id

    return go
