"""The store on real files: migrations, exactly-once ingest, exclusions that do not delete."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from core.errors import StoreError
from core.ports.batch import Batch
from core.store.archive import FolderArchive
from core.store.database import Database
from core.store.migrations import apply_pending, available
from core.store.open import open_store

AT = datetime(2026, 11, 29, tzinfo=UTC)
RUN = "ab" * 16


@pytest.fixture
def opened(tmp_path):
    database, store = open_store(tmp_path / "s.duckdb")
    yield database, store
    database.close()


def a_run(store):
    row = {
        "run_id": RUN,
        "box_id": "b",
        "worksheet_id": None,
        "title": "t",
        "request": {"model": "m"},
        "requested_by": "A",
        "created_at": AT,
    }
    return store.runs.insert({**row, "state": "running"})


def a_sample(seq, rate, **changes):
    columns = dict.fromkeys(
        (
            "client_tok_per_s",
            "ttft_ms",
            "prefill_tok_per_s",
            "wall_ms",
            "predicted_ms",
            "prompt_n",
            "prompt_ms",
            "drafted",
            "accepted",
            "steps",
            "per_position",
            "d_ms",
            "prompt_ids",
            "text_sha256",
        )
    )
    return {
        **columns,
        "run_id": RUN,
        "seq": seq,
        "server": 1,
        "recipe_id": "r",
        "stage": "baseline",
        "n_max": 0,
        "c": 1,
        "repetition": seq,
        "temperature": "warm",
        "counted": True,
        "kind": "real",
        "status": "ok",
        "reason": "",
        "tok_per_s": rate,
        "decode_tokens": 128,
        "noted_at": AT,
        "provenance": "measured",
        **changes,
    }


def test_every_migration_applies_once_from_empty(tmp_path):
    database = Database(tmp_path / "m.duckdb")
    numbers = [number for number, _ in available()]
    assert apply_pending(database) == numbers and apply_pending(database) == []
    database.close()


def test_a_failing_migration_rolls_back_and_stays_pending(tmp_path):
    folder = tmp_path / "sql"
    folder.mkdir()
    (folder / "0001_one.sql").write_text("CREATE TABLE one (a INTEGER);")
    (folder / "0002_two.sql").write_text("CREATE TABLE two (a INTEGER); SELECT nonsense;")
    database = Database(tmp_path / "m.duckdb")
    with pytest.raises(StoreError):
        apply_pending(database, folder)
    tables = {row["table_name"] for row in database.rows("SELECT table_name FROM information_schema.tables")}
    assert "one" in tables and "two" not in tables
    (folder / "0002_two.sql").write_text("CREATE TABLE two (a INTEGER);")
    assert apply_pending(database, folder) == [2]
    database.close()


def test_a_newer_schema_is_refused_and_left_alone(tmp_path):
    database, _ = open_store(tmp_path / "n.duckdb")
    with database.tx() as cursor:
        cursor.execute("INSERT INTO schema_migrations (number, sha256) VALUES (99, 'x')")
    database.close()
    with pytest.raises(StoreError, match="newer version"):
        open_store(tmp_path / "n.duckdb")


def test_ingest_is_all_or_nothing_and_repeats_add_nothing(opened):
    database, store = opened
    a_run(store)
    event = {"seq": 1, "kind": "sample", "noted_at": AT, "body": {}}
    batch = Batch(RUN, 10, 1, "s", [event], {"r": {"n_max": 0}}, [], [a_sample(1, 10.0)])
    store.runs.ingest(batch)
    store.runs.ingest(batch)
    assert len(store.cells.samples(RUN)) == 1 and store.runs.get(RUN)["read_offset"] == 10
    broken = Batch(RUN, 20, 2, "t", [{**event, "seq": 2}], {}, [], [a_sample(2, 11.0), a_sample(3, 12.0, status="nonsense")])
    with pytest.raises(StoreError):
        store.runs.ingest(broken)
    assert len(store.cells.samples(RUN)) == 1 and store.runs.get(RUN)["read_offset"] == 10 and len(store.runs.events(RUN)) == 1


def test_a_cell_counts_only_warm_counted_good_ones(opened):
    _, store = opened
    a_run(store)
    rows = [
        a_sample(1, 5.0, temperature="cold", counted=False),
        a_sample(2, 10.0),
        a_sample(3, 12.0),
        a_sample(4, 11.0),
        a_sample(5, None, status="failed", reason="died"),
        a_sample(6, 99.0, kind="synthetic"),
    ]
    store.runs.ingest(Batch(RUN, 1, 6, "s", [], {}, [], rows))
    (cell,) = store.cells.of_run(RUN)
    assert (cell["n"], cell["tok_per_s"], cell["tok_per_s_min"], cell["tok_per_s_max"], cell["n_bad"]) == (3, 11.0, 10.0, 12.0, 1)
    assert cell["rates"] == [10.0, 12.0, 11.0] and cell["why_bad"] == "died"


def test_excluding_keeps_the_repetition_and_says_who(opened):
    _, store = opened
    a_run(store)
    store.runs.ingest(Batch(RUN, 1, 3, "s", [], {}, [], [a_sample(i, 10.0 + i) for i in (1, 2, 3)]))
    store.cells.exclude({"run_id": RUN, "seq": 3, "reason": "fan failed", "who": "Ada", "noted_at": AT})
    (cell,) = store.cells.of_run(RUN)
    assert (cell["n"], cell["n_excluded"], cell["tok_per_s"]) == (2, 1, 11.5)
    assert [(s["tok_per_s"], s["excluded_reason"]) for s in store.cells.samples(RUN)] == [(11.0, None), (12.0, None), (13.0, "fan failed")]


def test_the_same_run_id_is_taken_once(opened):
    _, store = opened
    assert a_run(store) is True and a_run(store) is False and len(store.runs.find()) == 1


def test_typed_text_goes_in_as_a_value(opened):
    _, store = opened
    nasty = "'); DROP TABLE runs; -- <script>alert(1)</script>"
    store.worksheets.insert({"worksheet_id": "w", "title": nasty, "body": {"x": nasty}, "created_by": nasty, "created_at": AT})
    assert store.worksheets.get("w")["title"] == nasty and store.runs.find() == []


def test_a_damaged_file_is_refused_with_a_sentence(tmp_path):
    path = tmp_path / "d.duckdb"
    path.write_bytes(b"this is no database" * 1000)
    with pytest.raises(StoreError) as refused:
        open_store(path)
    assert "d.duckdb" in refused.value.message and path.read_bytes().startswith(b"this is no database")


def test_no_sql_is_put_together_from_values():
    for path in Path("core/store").glob("*.py"):
        text = path.read_text("utf-8")
        assert 'execute(f"' not in text and "execute(f'" not in text, path
    assert duckdb.__version__.startswith("2.")


def test_two_looks_at_once_write_a_ledger_line_once(tmp_path, monkeypatch):
    archive, gate, data = FolderArchive(tmp_path / "d"), threading.Barrier(8), b"".join(b'{"seq": %d}\n' % number for number in range(2000))

    def slow_size(run_id: str) -> int:
        found = FolderArchive.ledger_size(archive, run_id)
        time.sleep(0.05)  # wide open for another look to append in between
        return found

    monkeypatch.setattr(archive, "ledger_size", slow_size)

    def look() -> None:
        gate.wait(10)
        archive.append_events("ab" * 16, 0, data)

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert archive.ledger_size("ab" * 16) == len(data)
