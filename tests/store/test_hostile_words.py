"""SQL in every text that becomes part of a query, and secrets in everything that is written: no row moves, no secret is found."""

from __future__ import annotations

import duckdb
import pytest

from core.bootstrap import build
from core.config import Settings
from core.domain.matrix_filter import MatrixFilter
from core.errors import BenchError
from core.services import runs
from core.services.decisions import decide
from core.services.exports import export_all
from core.services.identity import local_actor, token_actor
from core.services.imports import import_files
from core.services.ledger import FILTERS, ledger_entries
from core.services.local_door import LocalDoor
from core.services.matrix import matrix_rows
from core.services.people import erase_name, set_person
from core.services.receipts import receipt
from core.services.reference import published_elsewhere
from core.services.tokens import make_token, revoke_token
from core.services.worksheet_edits import comment, comments_of
from core.services.worksheets import get_worksheet, propose, type_text
from core.store.digests import digests
from tests.fakes.measured_run import write_run

SQL = [
    "'; DROP TABLE runs; --", "' OR 1=1 --", "' OR ''='", "\"; DELETE FROM decisions; --", "x' UNION SELECT sha256 FROM tokens --",
    "'||(SELECT sha256 FROM tokens)||'", "1; ATTACH '/tmp/owned.db'", "'; COPY tokens TO '/tmp/owned.csv'; --", "%", "_", "\\", "'", '"',
    "`", "$1", "?", ":x", "/* */",
    "read_text('/etc/passwd')", "tokens\0runs", "runs; CALL pragma_version()",
]  # fmt: skip
ASKED = {"box_id": "this-machine", "engine_id": "embedded", "model": "made-dense", "workload_id": "chat-short", "n_max": 2}


@pytest.fixture(scope="module")
def services(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    opened = build(Settings(db=folder / "t.duckdb", local_dir=folder / "local"))
    yield opened
    opened.database.close()
    opened.jobs.close()


@pytest.fixture(scope="module")
def house(services):
    mine = services.house.acting(local_actor("Ada"))
    sheet = propose(mine, {"title": "t", **ASKED}, who="Ada", worksheet_id="w-0")
    write_run(mine, worksheet_id=sheet)
    decide(mine, {"worksheet_id": sheet, "verdict": "reject", "owner": "Ada", "reason": "no", "against_why": "x"})
    return mine


def asked(work):
    """What it answers; None where it was refused with a sentence of the house."""
    try:
        return work()
    except BenchError as refused:
        assert "SELECT" not in refused.message.upper().replace("UNION SELECT", "").replace("(SELECT", ""), "no query is shown to anybody"
        return None


def test_no_query_takes_sql_from_its_words(services, house):
    """Every reading call with every payload: the same rows before and after, and no more rows than the words really fit."""
    before = digests(services.database)
    for text in SQL:
        for name in MatrixFilter.model_fields:
            rows = asked(lambda name=name, text=text: matrix_rows(house, **{name: text}))
            assert not rows or name in ("sort", "age_days"), f"{name}: {text}"
        for name in FILTERS:
            entries = asked(lambda name=name, text=text: ledger_entries(house, **{name: text}))
            assert not entries, f"{name}: {text}"
        for work in (
            lambda text=text: get_worksheet(house, text),
            lambda text=text: runs.get_run(house, text),
            lambda text=text: runs.read_raw(house, text, text),
            lambda text=text: receipt(house, text),
            lambda text=text: house.box(text),
            lambda text=text: revoke_token(house, text),
            lambda text=text: erase_name(house, text),
            lambda text=text: house.store.tables.rows(text),
            lambda text=text: house.store.runs.find(worksheet_id=text),
            lambda text=text: house.store.people.get(text),
            lambda text=text: house.store.tokens.get(text),
            lambda text=text: house.store.worksheets.entries(text),
            lambda text=text: house.store.cells.of_run(text),
            lambda text=text: published_elsewhere(house, model=text),
        ):
            assert not asked(work), text
    assert digests(services.database) == before


def test_sql_that_is_written_is_a_text_that_comes_back(services, house):
    tables = set(digests(services.database))
    for number, text in enumerate(one for one in SQL if one.isprintable()):
        sheet = propose(house, {"title": text, **ASKED}, who=text, worksheet_id=f"w-{number:04}")
        comment(house, sheet, text, by=text)
        type_text(house, sheet, "fit", "baseline", text, by=text)
        set_person(house, {"key": f"https://id.example {text}", "name": text, "role": "viewer"})
        assert get_worksheet(house, sheet)["title"] == text and comments_of(house, sheet)[0]["text"] == text
        assert house.store.people.get(f"https://id.example {text}")["name"] == text
    assert set(digests(services.database)) == tables and len(house.store.decisions.all()) == 1


@pytest.mark.parametrize("setting", ["autoload_known_extensions=true", "python_enable_replacements=true", "lock_configuration=false"])
def test_no_statement_changes_what_the_database_may_do(services, setting):
    with pytest.raises((duckdb.Error, BenchError)), services.database.reader() as cursor:
        cursor.execute(f"SET GLOBAL {setting}")


def test_a_secret_is_nowhere_in_what_is_kept_or_handed_out(tmp_path, monkeypatch):
    """Token, link and passphrase go through every door; then every byte of the data folder and of an export is searched."""
    passphrase = "passphrase-c4n4ry-5f2b"
    monkeypatch.setenv("DL_TEST_PASS", passphrase)
    opened = build(Settings(db=tmp_path / "t.duckdb", local_dir=tmp_path / "local"))
    house = opened.house.acting(local_actor("Ada"))
    try:
        door = LocalDoor(b"k" * 32)
        link, token = door.token, make_token(house, {"name": "nightly", "role": "admin"})
        assert door.enter(link) and token_actor(opened.house, token).role == "admin"
        secrets = [token, token.rpartition("_")[2], link, passphrase]
        caller = opened.house.acting(token_actor(opened.house, token))
        for words in (f"Authorization: Bearer {token}", f"http://127.0.0.1:8501/enter?token={link}"):
            asked(lambda words=words: get_worksheet(caller, words))
            asked(lambda words=words: import_files(caller, [("x.log", words.encode())], who="nightly"))
            asked(lambda words=words: caller.box(words))
        export_all(caller, tmp_path / "out")
        assert len(house.store.audit.all()) > 2
    finally:
        opened.database.close()
        opened.jobs.close()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 30
    found = {path.name for path in files for secret in secrets if secret.encode() in path.read_bytes()}
    assert found == set()
