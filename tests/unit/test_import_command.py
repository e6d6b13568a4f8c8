"""`import` and `matrix --published` as a machine calls them."""

from __future__ import annotations

from pathlib import Path

from core.services.imports import LIMIT
from tests.unit.test_command_line import core

CASES = Path(__file__).parents[1] / "cases"
PAIR = str(next(CASES.glob("S07-*")))
BENCH = str(next(CASES.glob("B03-*")))


def test_import_adds_once_and_the_matrix_shows_the_mark(tmp_path):
    where = ("--db", str(tmp_path / "x.duckdb"), "--json")
    assert core("import", PAIR, BENCH, *where) == (0, {"added": 2, "already_there": 0, "rows": 3, "warnings": []})
    again = core("import", PAIR, *where)
    assert again == (0, {"added": 0, "already_there": 1, "rows": 0, "warnings": [f"{Path(PAIR).name}: already there."]})
    code, found = core("matrix", "--provenance", "imported", *where)
    assert code == 0 and set(found) == {"rows"} and len(found["rows"]) == 2
    cell = next(row for row in found["rows"] if row["model"] is None)["cells"]["2"]
    assert (cell["provenance"], cell["run_id"], round(cell["speedup"], 2)) == ("imported", None, 1.7)
    assert len(list((tmp_path / "x.duckdb.d" / "raw" / "imports").iterdir())) == 2


def test_published_stand_under_their_own_key_and_only_when_asked(tmp_path):
    where = ("--db", str(tmp_path / "x.duckdb"), "--json")
    plain, wider = core("matrix", *where)[1], core("matrix", "--published", *where)[1]
    assert set(plain) == {"rows"} and set(wider) == {"rows", "published"} and wider["rows"] == plain["rows"]
    assert len(wider["published"]) == 436 and {row["provenance"] for row in wider["published"]} == {"transcribed"}
    one = next(row for row in wider["published"] if row["id"] == "imp1462-01")
    assert (one["baseline_tok_s_min"], one["baseline_tok_s_max"], one["speedup_published_min"], one["concurrency"]) == (
        87.2,
        89.2,
        None,
        None,
    )


def test_bad_input_is_exit_2_with_a_sentence_and_nothing_is_stored(tmp_path):
    where = ("--db", str(tmp_path / "x.duckdb"), "--json")
    (tmp_path / "empty.log").touch()
    (tmp_path / "binary.json").write_bytes(bytes(range(256)) * 20)
    with (tmp_path / "big.log").open("wb") as handle:
        handle.truncate(LIMIT + 1)
    for args, word in (
        ((PAIR, str(tmp_path / "empty.log")), "The file is empty."),
        ((str(tmp_path / "binary.json"),), "binary data"),
        ((str(tmp_path / "big.log"),), "at most 20 MiB"),
        ((str(tmp_path / "nowhere"),), "cannot be read"),
        ((str(tmp_path),), "cannot be read"),
        ((PAIR, "--as", "nonsense"), "llama_bench"),
        ((PAIR, "--as", "vllm_bench"), "was to be read as vllm_bench"),
        ((PAIR, "--by", ""), "is needed"),
        ((), "arguments"),
    ):
        code, found = core("import", *args, *where)
        assert code == 2 and word in found["error"]["message"], found
    assert core("matrix", "--provenance", "imported", *where) == (0, {"rows": []})


def test_a_named_kind(tmp_path):
    assert core("import", PAIR, "--as", "server_log", "--db", str(tmp_path / "x.duckdb"), "--json")[1]["added"] == 1
