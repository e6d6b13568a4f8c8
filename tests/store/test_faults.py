"""The store's rows of the fault table, with real means: kills, damaged files, a full disk, two processes."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from core.errors import StoreError, StoreInUse
from core.store import migrations
from core.store.database import Database
from core.store.digests import digests
from core.store.open import open_store
from core.store.record import HouseRecord
from core.store.soundness import mended
from tests.store.stopped import ROOT, begun_and_killed, child, copied, kill, stopped_store, worksheet


def folder_of(path: Path) -> Path:
    return Path(f"{path}.d")


def contents(path: Path) -> tuple[dict, list[str], list[dict]]:
    """(digests, worksheet ids, what was mended) after an opening."""
    database, store = open_store(path)
    try:
        return digests(database), sorted(row["worksheet_id"] for row in store.worksheets.all()), mended(folder_of(path))
    finally:
        database.close()


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A killed writer's database with 60 rows or a few more, and its digests as they have to be."""
    path = stopped_store(tmp_path_factory.mktemp("stopped"), 60)
    whole = contents(copied(path, path.parent / "whole"))
    assert len(whole[1]) >= 60
    return path, whole[0], whole[1]


def kills(tmp_path: Path, rounds: int, seed: int) -> None:
    rng, path, acknowledged = random.Random(seed), tmp_path / "s.duckdb", 0
    for _ in range(rounds):
        writer = child(path)
        time.sleep(rng.uniform(0.0, 0.3))
        acknowledged = max(acknowledged, kill(writer))
    _, ids, _ = contents(path)
    assert ids == [f"w-{number:08x}" for number in range(1, len(ids) + 1)], seed
    assert acknowledged <= len(ids), seed
    record = HouseRecord(folder_of(path) / "house.jsonl")
    put = [row[0] for line in record.lines() for sql, rows in line["do"] if sql.startswith("INSERT INTO worksheets ") for row in rows]
    assert sorted(put) == ids, seed


def test_a01_a_writer_killed_at_random_moments_loses_and_doubles_nothing(tmp_path):
    kills(tmp_path, 4, seed=20261129)


@pytest.mark.soak
def test_a01_many_kills(tmp_path):
    kills(tmp_path, 100, seed=int(os.environ.get("SEED", "1")))


def test_a05_a_second_process_is_told_who_holds_the_file(tmp_path):
    writer = child(tmp_path / "s.duckdb")
    try:
        with pytest.raises(StoreInUse) as refused:
            open_store(tmp_path / "s.duckdb")
        done = subprocess.run(
            [sys.executable, "-m", "core", "runs", "--db", str(tmp_path / "s.duckdb"), "--json"], cwd=ROOT, capture_output=True, check=False
        )
    finally:
        kill(writer)
    assert f"process {writer.pid} on " in refused.value.message and " since 20" in refused.value.message
    assert done.returncode == 3 and str(writer.pid) in json.loads(done.stdout)["error"]["message"] and b"Traceback" not in done.stderr
    assert contents(tmp_path / "s.duckdb")[1]


def test_a06_one_folder_one_process_even_when_the_file_itself_is_free(tmp_path):
    writer = child(tmp_path / "s.duckdb")
    try:
        (tmp_path / "s.duckdb").rename(tmp_path / "elsewhere.duckdb")
        with pytest.raises(StoreInUse):
            open_store(tmp_path / "s.duckdb")
        assert not (tmp_path / "s.duckdb").exists()
    finally:
        kill(writer)


def damage(path: Path, how: str) -> None:
    wal = Path(f"{path}.wal")
    data = wal.read_bytes()
    if how == "cut in half":
        wal.write_bytes(data[: len(data) // 2])
    elif how == "one byte short":
        wal.write_bytes(data[:-1])
    elif how == "wal missing":
        wal.unlink()
    elif how == "database missing":
        path.unlink()
        wal.unlink()
    elif how == "database overwritten":
        path.write_bytes(b"this is no database" * 4000)
    else:
        place = int(how)
        wal.write_bytes(data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :])


@pytest.mark.parametrize("how", ["cut in half", "one byte short", "wal missing", "database missing", "database overwritten"])
def test_a08_a_damaged_database_is_made_anew_whole(stopped, tmp_path, how):
    path, whole, ids = stopped
    damaged = copied(path, tmp_path / "damaged")
    damage(damaged, how)
    found, rows, said = contents(damaged)
    assert (found, rows) == (whole, ids)
    assert len(said) == 1 and said[0]["faults"] == []
    if how in ("cut in half", "wal missing", "database overwritten"):
        aside = list((folder_of(damaged) / "aside").rglob("s.duckdb"))
        assert len(aside) == 1, "the file that could not be used is kept"
    assert contents(damaged)[2] == said, "the next opening finds nothing to mend"


def opened_by_the_driver_alone(path: Path) -> str:
    """What DuckDB itself makes of the file: refused, short (rows missing, no error), or whole."""
    try:
        with duckdb.connect(str(path)) as connection:
            (count,) = connection.execute("SELECT seq FROM house_cursor").fetchone() or (0,)
    except duckdb.Error:
        return "refused"
    return "whole" if count == HouseRecord(folder_of(path) / "house.jsonl").head.seq else "short"


def flips(stopped, tmp_path: Path, rounds: int, seed: int) -> Counter:
    path, whole, ids = stopped
    rng, size, outcomes = random.Random(seed), Path(f"{path}.wal").stat().st_size, Counter()
    places = [size - 30, size // 2, *(rng.randrange(size // 8, size) for _ in range(rounds))]
    for turn, place in enumerate(places):
        for name in ("alone", "ours"):
            damage(copied(path, tmp_path / f"{name}-{turn}"), str(place))
        outcomes[opened_by_the_driver_alone(tmp_path / f"alone-{turn}" / "s.duckdb")] += 1
        found, rows, _ = contents(tmp_path / f"ours-{turn}" / "s.duckdb")
        assert (found, rows) == (whole, ids), (seed, place)
    return outcomes


def test_a08_flipped_bytes_lose_nothing_whether_the_driver_refuses_or_stays_silent(stopped, tmp_path):
    outcomes = flips(stopped, tmp_path, 3, seed=7)
    assert outcomes["refused"] >= 1 and sum(outcomes.values()) == 5
    cut = copied(stopped[0], tmp_path / "cut")
    damage(cut, "cut in half")
    assert opened_by_the_driver_alone(cut) == "short", "half a WAL opens without a word, rows missing"


@pytest.mark.soak
def test_a08_many_flips_show_both_outcomes(stopped, tmp_path):
    outcomes = flips(stopped, tmp_path, 100, seed=int(os.environ.get("SEED", "1")))
    print(f"flips: {dict(outcomes)}")
    assert outcomes["refused"] and outcomes["short"]


def upgrade_until_killed(path: str, folder: str) -> None:
    """The child: opens with one more migration and is killed inside it or right after."""
    migrations.FOLDER = Path(folder)
    migrations.available.__defaults__ = migrations.pending.__defaults__ = (Path(folder),)  # type: ignore[misc]
    migrations.apply_pending.__defaults__ = (Path(folder),)  # type: ignore[misc]
    os.write(1, b"up\n")
    open_store(Path(path))
    os.write(1, b"1\n")
    time.sleep(30)


def test_a10_an_interrupted_upgrade_is_old_or_new_and_a_backup_was_made_first(stopped, tmp_path, monkeypatch):
    path, _, ids = stopped
    files = tmp_path / "sql"
    files.mkdir()
    for _, file in migrations.available():
        (files / file.name).write_bytes(file.read_bytes())
    number = len(list(files.iterdir())) + 1
    slow = "CREATE TABLE slow AS SELECT count(*) AS n FROM range(300000000);"
    text = "ALTER TABLE worksheets ADD COLUMN more VARCHAR;\nUPDATE worksheets SET more = title;"
    (files / f"{number:04d}_more.sql").write_text("\n".join([text, slow]))
    rng, seen = random.Random(3), Counter()
    for turn in range(3):
        damaged = copied(path, tmp_path / f"u{turn}")
        word = f"from tests.store.test_faults import upgrade_until_killed as u; u({str(damaged)!r}, {str(files)!r})"
        upgrade = subprocess.Popen([sys.executable, "-c", word], cwd=ROOT, stdout=subprocess.PIPE)
        assert upgrade.stdout is not None and upgrade.stdout.readline() == b"up\n"
        if turn == 2:
            assert upgrade.stdout.readline() == b"1\n"
        else:
            time.sleep(rng.uniform(0.0, 0.5))
        kill(upgrade)
        probe = copied(damaged, tmp_path / f"p{turn}")
        with duckdb.connect(str(probe)) as connection:
            columns = {
                row[0] for row in connection.execute("SELECT column_name FROM duckdb_columns() WHERE table_name = 'worksheets'").fetchall()
            }
            tables = {row[0] for row in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
            applied = connection.execute("SELECT max(number) FROM schema_migrations").fetchone()
        new = applied == (number,)
        assert ("more" in columns, "slow" in tables) == (new, new)
        seen["new" if new else "old"] += 1
        if list((folder_of(damaged)).glob("house.jsonl")) and new:
            backups = list((folder_of(damaged) / "backups").glob("before-schema-*.duckdb"))
            assert len(backups) == 1
            with duckdb.connect(str(backups[0]), read_only=True) as connection:
                assert connection.execute("SELECT count(*) FROM worksheets").fetchone() == (len(ids),)
    assert seen["new"] >= 1 and sum(seen.values()) == 3


def test_a10_a_database_from_before_the_record_is_copied_then_recorded_whole(tmp_path):
    path = tmp_path / "old.duckdb"
    old = Database(path)
    migrations.apply_pending(old, upto=2)
    with old.tx() as cursor:
        cursor.execute("INSERT INTO worksheets VALUES ('w-1', 't', '{\"share\": 0.1}', 'Ada', TIMESTAMPTZ '2026-11-29 00:00:00+00')")
        cursor.execute("INSERT INTO recipes VALUES ('r', '{}')")
    old.close()
    before, ids, said = contents(path)
    assert ids == ["w-1"] and before["recipes"]["rows"] == 1 and said == []
    (backup,) = (folder_of(path) / "backups").glob("before-schema-0003-*.duckdb")
    with duckdb.connect(str(backup), read_only=True) as connection:
        assert connection.execute("SELECT max(number) FROM schema_migrations").fetchone() == (2,)
    path.unlink()
    assert contents(path)[:2] == (before, ids)


def test_a10_a_stop_while_the_record_is_begun_loses_no_row(tmp_path, monkeypatch):
    """Half a record is none: the rows of before stay the truth until the whole record has its name."""
    path = tmp_path / "old.duckdb"
    old = Database(path)
    migrations.apply_pending(old, upto=2)
    with old.tx() as cursor:
        cursor.execute("INSERT INTO worksheets VALUES ('w-1', 't', '{\"share\": 0.1}', 'Ada', TIMESTAMPTZ '2026-11-29 00:00:00+00')")
    old.close()
    for lines in (0, 1):
        with monkeypatch.context() as stopping:
            stopping.setattr(HouseRecord, "append", stops_after(lines))
            with pytest.raises(InterruptedError):
                open_store(path)
    assert contents(path)[1:] == (["w-1"], [])


def stops_after(lines: int):
    """An `append` that writes so many lines and is stopped in the next."""
    write, left = HouseRecord.append, [lines]

    def append(record, do, notes):
        if left[0] == 0:
            raise InterruptedError
        left[0] -= 1
        return write(record, do, notes)

    return append


def test_a01_a_database_that_is_killed_while_it_begins_opens_again(tmp_path):
    begun = begun_and_killed(tmp_path, [0.02 * step for step in range(1, 11)])
    files = [path for path in begun if path.exists()]
    for path in begun:
        assert contents(path)[1] == []
    assert len(files) < len(begun), "at least one was killed before its file had its name"


@pytest.fixture
def small_disk(tmp_path):
    """An 8 MB disk of its own."""
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)], check=True)
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a07_a_full_disk_refuses_writing_keeps_reading_and_needs_no_restart(small_disk):
    database, store = open_store(small_disk / "s.duckdb")
    ballast, number, refusals = small_disk / "ballast", 0, []
    for turn in range(3):
        with pytest.raises(StoreError) as refused:
            while True:
                store.worksheets.insert({**worksheet(number + 1), "body": {"text": "y" * 3000}})
                number += 1
                if number == 40 * (turn + 1):
                    fill(ballast)
        refusals.append(refused.value)
        assert sorted(row["worksheet_id"] for row in store.worksheets.all()) == [f"w-{one:08x}" for one in range(1, number + 1)]
        ballast.unlink()
    store.worksheets.insert(worksheet(number + 1))
    before = digests(database)
    database.close()
    assert all(one.title == "Not saved" and "Everything stored before is kept" in one.message for one in refusals)
    (small_disk / "s.duckdb").unlink()
    assert contents(small_disk / "s.duckdb")[0] == before


def fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file:
        try:
            for size in (1 << 16, 1 << 12, 1 << 8, 1):
                while True:
                    try:
                        file.write(b"b" * size)
                    except OSError:
                        break
        except OSError:
            pass


def test_a07_a_disk_that_is_full_at_a_checkpoint_is_survived_in_the_same_process(small_disk):
    database, store = open_store(small_disk / "s.duckdb")
    for number in range(1, 200):
        store.worksheets.insert({**worksheet(number), "body": {"text": os.urandom(3000).hex()}})
        if number == 150:
            break
    fill(small_disk / "ballast")
    with pytest.raises(StoreError), database.reader() as cursor:
        cursor.execute("FORCE CHECKPOINT")
    assert database._is_dead, "the driver has given the database up"
    assert len(store.worksheets.all()) == 150, "read again although the driver gave the database up"
    (small_disk / "ballast").unlink()
    store.worksheets.insert(worksheet(151))
    assert len(store.worksheets.all()) == 151
    database.close()


def test_a_torn_last_line_is_cut_off_and_the_rows_agree(stopped, tmp_path):
    path, whole, ids = stopped
    torn = copied(path, tmp_path / "torn")
    with (folder_of(torn) / "house.jsonl").open("ab") as file:
        file.write(b'{"seq": 99, "do": [["INSERT')
    assert contents(torn)[:2] == (whole, ids)


def test_a_record_that_lost_its_end_is_begun_anew_from_the_rows(stopped, tmp_path):
    path, whole, ids = stopped
    short = copied(path, tmp_path / "short")
    file = folder_of(short) / "house.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-5]))
    assert contents(short)[:2] == (whole, ids)
    (short).unlink()
    assert contents(short)[:2] == (whole, ids), "and the new record alone gives the same rows"


def test_a_file_and_a_record_that_do_not_belong_together_are_refused(stopped, tmp_path):
    path, _, _ = stopped
    one, other = copied(path, tmp_path / "one"), tmp_path / "other" / "s.duckdb"
    database, store = open_store(other)
    for number in range(500, 520):
        store.worksheets.insert(worksheet(number))
    database.close()
    Path(f"{one}.wal").unlink()
    one.write_bytes(other.read_bytes())
    before = one.read_bytes()
    with pytest.raises(StoreError, match="do not belong together"):
        open_store(one)
    assert one.read_bytes() == before


def test_a_changed_line_of_the_record_is_named(stopped, tmp_path):
    path, _, _ = stopped
    changed = copied(path, tmp_path / "changed")
    file = folder_of(changed) / "house.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    lines[20] = lines[20].replace(b"x" * 40, b"y" * 40)
    file.write_bytes(b"".join(lines))
    with pytest.raises(StoreError, match="Line 21"):
        list(HouseRecord(file).lines())


def test_a_failed_transaction_leaves_no_line(tmp_path):
    database, store = open_store(tmp_path / "f.duckdb")
    assert database.record is not None
    before = database.record.head
    store.worksheets.insert(worksheet(1))
    with pytest.raises(StoreError):
        store.worksheets.insert(worksheet(1))
    assert database.record.head.seq == before.seq + 1 == len(list(database.record.lines()))
    database.close()


def test_a_transaction_inside_a_transaction_is_a_defect_and_loses_nothing(tmp_path):
    database, store = open_store(tmp_path / "n.duckdb")
    with pytest.raises(RuntimeError, match="inside a transaction"), database.tx():
        store.worksheets.insert(worksheet(1))
    store.worksheets.insert(worksheet(2))
    assert [row["worksheet_id"] for row in store.worksheets.all()] == ["w-00000002"]
    database.close()
    assert contents(tmp_path / "n.duckdb")[2] == []


def test_what_is_written_has_to_give_the_same_rows_again():
    """A statement with a clock, a dice or a sequence in it could not be done again."""
    for path in [*Path("core/store").glob("*.py"), *Path("core/store/migrations").glob("*.sql")]:
        text = path.read_text("utf-8").lower()
        for word in ("nextval", "random()", "gen_random_uuid", "current_timestamp", "get_current_time"):
            assert word not in text or path.name == "database.py", f"{path} holds {word}"
        assert "now()" not in text or path.name in ("migrations.py", "database.py"), path
