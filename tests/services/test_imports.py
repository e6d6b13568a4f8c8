"""Importing: a preview stores nothing, confirming stores once, bad input is a sentence; nothing meets the lab's own figures."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pytest

from core.errors import InvalidInput, NotFound, OutputNotUnderstood
from core.services import imports
from core.services.imports import LIMIT, import_files, list_imports, preview, raw_import
from core.services.matrix import matrix_rows
from core.services.receipts import receipt
from core.services.worksheets import propose, show_worksheet
from tests.fakes.measured_run import write_run

CASES = Path(__file__).parents[1] / "cases"
PAIR = next(CASES.glob("S07-*")).read_bytes()
BENCH = next(CASES.glob("B03-*")).read_bytes()
HOSTILE = {
    "empty": b"",
    "binary": bytes(range(256)) * 64,
    "prose": "Nothing to see here, in any language. 何もない。\n".encode() * 20,
    "html": b"<html><script>alert(1)</script><b>bold</b></html>",
    "formula": b'=HYPERLINK("http://x","y")\n=cmd|\' /C calc\'!A0\n',
    "zeros": b"\0" * 4096,
    "half JSON": b'[{"build_commit": "abc", "n_prompt": 0, "n_ge',
    "invalid UTF-8": b"\xff\xfe\xfa" * 500,
    "blanks": b" \n\t\r\n" * 1000,
}


def stored(house):
    tables = ("imported_files", "imported_cells")
    database = house.store.imports._db
    rows = [database.rows(f"SELECT count(*) AS n FROM {table}")[0]["n"] for table in tables]  # noqa: S608
    return rows, sorted(path.name for path in house.archive.folder.rglob("*") if path.is_file())


def test_a_preview_stores_nothing_and_shows_what_confirming_would_do(house):
    before = stored(house)
    one = preview(house, "run.log", PAIR)
    assert (one.kind, one.is_there, one.problem) == ("server_log", False, "")
    assert [(cell["n_max"], round(cell["tok_per_s"], 1)) for cell in one.cells] == [(0, 72.9), (2, 123.9)]
    assert ("D_ms", 4.500074, "ms") in one.figures and "n_ctx" in one.missing
    assert stored(house) == before


def test_confirmed_once_it_is_there_with_digest_raw_file_and_provenance(house):
    answer = import_files(house, [("run.log", PAIR), ("bench.json", BENCH)], who="Ada")
    assert answer == {"added": 2, "already_there": 0, "rows": 3, "warnings": []}
    digest = hashlib.sha256(PAIR).hexdigest()
    file = house.store.imports.get(digest)
    assert (file["provenance"], file["name"], file["bytes"], file["imported_by"], file["kind"]) == (
        "imported",
        "run.log",
        len(PAIR),
        "Ada",
        "server_log",
    )
    assert file["reading"]["a"] == 2.379182 and file["noted_at"].tzinfo is not None
    assert gzip.decompress((house.archive.folder / file["stored_as"]).read_bytes()) == PAIR
    assert raw_import(house, digest) == ("run.log", PAIR)


def test_the_same_bytes_add_nothing_whatever_they_are_called(house):
    import_files(house, [("run.log", PAIR)], who="Ada")
    before = stored(house)
    answer = import_files(house, [("another name.txt", PAIR), ("run.log", PAIR)], who="Bo")
    assert answer == {
        "added": 0,
        "already_there": 2,
        "rows": 0,
        "warnings": ["another name.txt: already there.", "run.log: already there."],
    }
    assert stored(house) == before and len(list_imports(house)) == 1
    assert preview(house, "x", PAIR).is_there


def test_twice_in_one_go_counts_once(house):
    assert import_files(house, [("a", PAIR), ("b", PAIR)], who="Ada")["added"] == 1
    assert [row["cells"] for row in list_imports(house)] == [2]


def test_imported_cells_stand_in_rows_of_their_own_with_their_mark(house):
    write_run(house)
    measured = matrix_rows(house, provenance="measured")
    transcribed = matrix_rows(house, provenance="transcribed")
    import_files(house, [("run.log", PAIR), ("bench.json", BENCH)], who="Ada")
    assert matrix_rows(house, provenance="measured") == measured and matrix_rows(house, provenance="transcribed") == transcribed
    rows = {row["file"]["name"]: row for row in matrix_rows(house, provenance="imported")}
    pair, bench = rows["run.log"], rows["bench.json"]
    assert {cell["provenance"] for cell in pair["cells"].values() if cell["cell_id"]} == {"imported"} and pair["run_id"] is None
    assert (pair["model"], pair["c"], pair["context"], pair["build"]) == (None, None, None, None), (
        "what the file does not say stays unknown"
    )
    assert round(pair["cells"]["2"]["speedup"], 3) == 1.7 and pair["cells"]["2"]["verdict"] == "wins"
    assert pair["cells"]["1"]["status"] == "not_run" and pair["cells"]["1"]["tok_s"] is None
    assert (bench["model"], bench["build"], bench["c"], bench["why"]) == (
        "qwen3 0.6B F16",
        "b5163 (7d20c4e1)",
        1,
        "the file holds a baseline only",
    )
    assert {row["provenance"] for row in matrix_rows(house, model="qwen3 0.6B F16")} == {"imported"}
    assert len(matrix_rows(house)) == len(measured) + 2 + len(transcribed)


def test_a_cell_without_a_known_n_max_is_kept_and_has_no_column(house):
    data = next(CASES.glob("S19-*")).read_bytes()
    assert import_files(house, [("ngram.log", data)], who="Ada")["rows"] == 1
    assert matrix_rows(house, provenance="imported") == []
    (cell,) = house.store.imports.cells()
    assert cell["n_max"] is None and round(cell["tok_per_s"], 2) == 35.13
    view = receipt(house, f"imported~{cell['sha256']}~0")
    assert view["price"] is None and view["title"] == "model not recorded · from ngram.log · n_max unknown"


def test_the_same_arm_twice_in_one_file_is_two_rows_never_a_mean(house):
    table = b"| model | size | params | backend | ngl | test | t/s |\n| --- | ---: | ---: | --- | --: | ---: | ---: |\n"
    table += (
        b"| a 7B | 1.00 GiB | 7.00 B | CUDA | 99 | tg64 | 10.00 \xc2\xb1 0.10 |\n"
        + b"| a 7B | 1.00 GiB | 7.00 B | CUDA | 99 | tg64 | 20.00 \xc2\xb1 0.10 |\n"
    )
    import_files(house, [("t.md", table)], who="Ada")
    assert [row["cells"]["off"]["tok_s"] for row in matrix_rows(house, provenance="imported")] == [10.0, 20.0]


def test_the_receipt_of_an_imported_cell_prices_the_pair_of_its_file(house):
    import_files(house, [("run.log", PAIR)], who="Ada")
    digest = hashlib.sha256(PAIR).hexdigest()
    view = receipt(house, f"imported~{digest}~1")
    assert view["kind"] == "imported" and view["run"] is None and view["samples"] == [] and view["decisions"] == []
    assert (round(view["price"]["h_ms"], 2), round(view["price"]["step_ms"], 2), round(view["price"]["d_ms"], 2)) == (13.72, 19.2, 4.5)
    assert view["imported"]["file"]["sha256"] == digest
    for wrong in (f"imported~{digest}~9", f"imported~{digest}", "imported~x~0", "imported~", f"imported~{digest}~-1"):
        with pytest.raises(NotFound):
            receipt(house, wrong)


def test_no_import_reaches_a_worksheet_so_no_keep_can_rest_on_one(house):
    proposal = {"title": "MTP", "box_id": "this-machine", "engine_id": "embedded", "model": "made-dense", "workload_id": "chat-short"}
    worksheet = propose(house, proposal, who="Ada")
    before = show_worksheet(house, worksheet)
    log = PAIR + b"\n"
    import_files(house, [("run.log", log)], who="Ada")
    after = show_worksheet(house, worksheet)
    assert after["fields"] == before["fields"] and after["gates"] == before["gates"] and after["steps"] == {} and after["price"] is None
    run_id = write_run(house, worksheet_id=worksheet)
    text = json.dumps(show_worksheet(house, worksheet), default=str)
    assert run_id in text and "imported" not in text


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_content_is_one_sentence_and_nothing_stored(house, name):
    before = stored(house)
    one = preview(house, "x.log", HOSTILE[name])
    if not one.problem:  # a cut document is read in part: that is a reading, not an error
        assert name == "half JSON" and one.kind == "llama_bench" and one.cells == []
        return
    assert one.problem.endswith(".") and "\n" not in one.problem and one.cells == [] and one.kind == ""
    with pytest.raises(InvalidInput) as refused:
        import_files(house, [("good.log", PAIR), ("x.log", HOSTILE[name])], who="Ada")
    assert set(refused.value.problems) == {"x.log"} and "Nothing was imported." in refused.value.hint
    assert stored(house) == before, "all or none"


def test_a_file_at_the_limit_is_read_and_one_above_is_refused(house):
    line = b"a line of an unknown program that goes on and on and on, without any figure in it at all\n"
    whole = (line * (LIMIT // len(line) + 1))[: LIMIT - len(PAIR)] + PAIR
    assert len(whole) == LIMIT
    one = preview(house, "big.log", whole)
    assert one.problem == "" and one.kind == "server_log"
    above = preview(house, "bigger.log", whole + b"\n")
    assert above.problem == "The file is 20.0 MiB; at most 20 MiB are taken in." and above.cells == []
    with pytest.raises(InvalidInput):
        import_files(house, [("bigger.log", whole + b"\n")], who="Ada")
    assert list_imports(house) == []


@pytest.mark.parametrize("name", ["../../etc/passwd", "=cmd()", "<b>x</b>", "a\nb\0c", "x" * 5000, "", "\u202egpj.exe"])
def test_names_are_words_never_paths(house, name):
    import_files(house, [(name, PAIR)], who="Ada")
    (file,) = list_imports(house)
    assert len(file["name"]) <= 120 and file["name"].isprintable() and file["name"]
    assert file["stored_as"] == f"raw/imports/{file['sha256']}.gz"


def test_lying_extensions_and_numbers_that_cannot_be(house):
    assert preview(house, "picture.png", BENCH).kind == "llama_bench"
    nan = BENCH.replace(b"78.648542", b"NaN")
    one = preview(house, "nan.json", nan)
    assert one.cells == [] and not one.problem
    json.dumps(one.values, allow_nan=False)
    assert preview(house, "huge.json", BENCH.replace(b"78.648542", b"1e400")).cells == []
    assert preview(house, "negative.json", BENCH.replace(b"78.648542", b"-5")).cells == []


def test_a_named_kind_is_used_and_an_unknown_one_refused(house):
    assert preview(house, "x", PAIR, kind="server_log").kind == "server_log"
    assert "was to be read as vllm_bench" in preview(house, "x", PAIR, kind="vllm_bench").problem
    with pytest.raises(InvalidInput) as refused:
        import_files(house, [("x", PAIR)], who="Ada", kind="nonsense")
    assert "llama_bench" in refused.value.problems["kind"]


@pytest.mark.parametrize("who", ["", "  ", "a\nb", "x" * 81])
def test_taking_in_needs_a_name(house, who):
    with pytest.raises(InvalidInput):
        import_files(house, [("x", PAIR)], who=who)
    assert list_imports(house) == []


def test_no_files_or_too_many(house):
    for files in ([], [("x", PAIR)] * (imports.FILES_AT_ONCE + 1)):
        with pytest.raises(InvalidInput):
            import_files(house, files, who="Ada")


def test_a_raw_file_changed_afterwards_is_noticed(house):
    import_files(house, [("run.log", PAIR)], who="Ada")
    (file,) = list_imports(house)
    (house.archive.folder / file["stored_as"]).write_bytes(gzip.compress(b"other"))
    with pytest.raises(OutputNotUnderstood):
        raw_import(house, file["sha256"])
    with pytest.raises(NotFound):
        raw_import(house, "0" * 64)
