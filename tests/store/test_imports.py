"""Imports, readings and public results on real files: the migration over a filled older database, once per content, all or nothing."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime

import pytest

from core.errors import StoreError
from core.store.database import Database
from core.store.migrations import FOLDER, apply_pending, available
from core.store.open import open_store

AT = datetime(2026, 11, 29, tzinfo=UTC)
SHA = "ab" * 32
FILE = {
    "sha256": SHA, "name": "'); DROP TABLE imported_files; --", "bytes": 3, "stored_as": "raw/imports/x.gz", "kind": "server_log",
    "reading": {"a": 2.0, "rows": [{"x": None}]}, "warnings": ["w"], "imported_by": "Ada", "noted_at": AT, "provenance": "imported",
}  # fmt: skip
CELL = {
    "model": None, "build": None, "settings": "", "context": None, "workload": None, "placement": {"label": "unknown"}, "n_max": None,
    "c": None, "tok_per_s": 12.5, "tok_per_s_min": None, "tok_per_s_max": None, "n": None, "accept_share": None,
    "accept_denominator": None, "a": None, "d_ms": None, "verdict": None, "basis": "decode rate",
}  # fmt: skip


@pytest.fixture
def opened(tmp_path):
    database, store = open_store(tmp_path / "s.duckdb")
    yield database, store
    database.close()


def test_the_migration_runs_over_a_filled_database_of_before(tmp_path):
    before = tmp_path / "before"
    before.mkdir()
    mine = next(number for number, path in available() if path.name.endswith("imports_and_public_results.sql"))
    for number, path in available():
        if number < mine:
            shutil.copy(path, before)
    database = Database(tmp_path / "old.duckdb")
    apply_pending(database, before)
    with database.tx() as cursor:
        cursor.execute("INSERT INTO worksheets VALUES ('w', 't', '{}', 'Ada', now())")
    assert mine in apply_pending(database, FOLDER) and apply_pending(database, FOLDER) == []
    database.close()
    database, store = open_store(tmp_path / "old.duckdb")
    assert [row["worksheet_id"] for row in store.worksheets.all()] == ["w"]
    assert store.imports.files() == [] and store.published.results() == [] and store.imports.insert(FILE, [CELL]) is True
    database.close()


def test_a_file_is_taken_once_and_comes_back_as_it_was(opened):
    _, store = opened
    assert store.imports.insert(FILE, [CELL, {**CELL, "n_max": 0, "c": 4}]) is True
    assert store.imports.insert({**FILE, "name": "another"}, [CELL]) is False
    kept = store.imports.get(SHA)
    assert {name: kept[name] for name in FILE} == FILE
    assert [(row["name"], row["cells"]) for row in store.imports.files()] == [(FILE["name"], 2)]
    first, second = store.imports.cells()
    assert {name: first[name] for name in CELL} == CELL and (first["file"], first["position"], second["n_max"], second["c"]) == (
        FILE["name"],
        0,
        0,
        4,
    )
    assert store.imports.get("cd" * 32) is None and store.imports.cells(sha256="cd" * 32) == [] and store.imports.cells(model="x") == []


@pytest.mark.parametrize("wrong", [{"provenance": "measured"}, {"sha256": "x"}])
def test_what_is_no_import_is_refused_whole(opened, wrong):
    _, store = opened
    with pytest.raises(StoreError):
        store.imports.insert({**FILE, **wrong}, [CELL])
    with pytest.raises(StoreError):
        store.imports.insert(FILE, [CELL, {**CELL, "tok_per_s": None}])
    assert store.imports.files() == [] and store.imports.cells() == []


def test_a_reading_is_kept_once_per_content_and_reader(opened):
    _, store = opened
    assert store.imports.reading(SHA, "r1") is None
    store.imports.keep_reading(SHA, "r1", {"values": {"a": 2.5}}, AT)
    store.imports.keep_reading(SHA, "r1", {"values": {"a": 9.9}}, AT)
    assert store.imports.reading(SHA, "r1") == {"values": {"a": 2.5}} and store.imports.reading(SHA, "r2") is None


def test_public_results_are_replaced_whole_or_not_at_all(opened):
    _, store = opened
    row = {"id": "a", "position": 0, "source_url": None, "published": None, "n_max": 0, "spec_tok_per_s_min": 44,
           "spec_tok_per_s_max": 46.5, "is_second_hand": False}  # fmt: skip
    assert store.published.load_results("one", [row, {**row, "id": "b", "position": 1}], AT) is True
    assert store.published.load_results("one", [], AT) is False and store.published.has_results("one")
    with pytest.raises(StoreError):
        store.published.load_results("two", [row, row], AT)
    found = store.published.results()
    assert [one["id"] for one in found] == ["a", "b"] and (found[0]["spec_tok_per_s_min"], found[0]["spec_tok_per_s_max"]) == (44.0, 46.5)
    assert (found[0]["n_max"], found[0]["accept_share_min"], found[0]["model"]) == (0, None, None)
    assert store.published.load_results("two", [row], AT) is True and not store.published.has_results("one")
