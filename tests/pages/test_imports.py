"""Import page: nothing dropped, preview, confirmation, the same again, hostile files; the mark in the matrix and the receipt."""

from __future__ import annotations

import hashlib
from pathlib import Path

from streamlit.testing.v1 import AppTest

from core.services.house import House
from core.services.imports import LIMIT, import_files, list_imports
from tests.pages.conftest import OpenPage, cells, words

CASES = Path(__file__).parents[1] / "cases"
PAIR = next(CASES.glob("S07-*")).read_bytes()
CLIENT = next(CASES.glob("S15-*")).read_bytes()
NGRAM = next(CASES.glob("S19-*")).read_bytes()
PLACED = next(CASES.glob("L03-*")).read_bytes()


def drop(at: AppTest, *files: tuple[str, bytes]) -> AppTest:
    at.file_uploader[0].set_value([(name, data, "text/plain") for name, data in files])
    return at.run()


def confirm(at: AppTest) -> AppTest:
    next(button for button in at.button if button.label.startswith("Take in")).click()
    return at.run()


def test_empty_page_says_what_to_drop(open_page: OpenPage) -> None:
    at = open_page("imports")
    assert not at.exception and at.title[0].value == "Import"
    assert "Nothing is stored before you confirm." in words(at) and not [b for b in at.button if b.label.startswith("Take in")]


def test_preview_shows_kind_cells_units_and_what_is_missing(open_page: OpenPage, house: House) -> None:
    at = drop(open_page("imports", person="Ada"), ("run.log", PAIR), ("client.txt", CLIENT))
    assert not at.exception
    overview, cells, figures = (at.dataframe[place].value for place in range(3))
    assert list(overview["read as"]) == ["server_log", "bench_client"] and list(overview["cells for the matrix"]) == ["2 of 2", "1 of 1"]
    assert list(cells["column n_max"]) == ["off", "2"] and list(cells["tok/s"]) == ["72.9", "124"]
    assert list(cells["acceptance"]) == ["n/a", "69% of 538 proposed"] and set(cells["model"]) == {"—?"}
    units = dict(zip(figures["figure"], figures["unit"], strict=True))
    assert (units["D_ms"], units["accept_share"], units["drafted"]) == ("ms", "share 0–1", "tokens")
    said = words(at)
    assert "The file does not say, for these cells: model, engine build, context length, concurrency, workload." in said
    assert "Not in the file, and left unknown:" in said and list_imports(house) == []


def test_confirming_stores_once_and_the_same_again_is_already_there(open_page: OpenPage, house: House) -> None:
    at = confirm(drop(open_page("imports", person="Ada"), ("run.log", PAIR), ("client.txt", CLIENT)))
    assert not at.exception and "2 taken in, 0 already there, 3 cells added." in words(at)
    assert {row["imported_by"] for row in list_imports(house)} == {"Ada"} and len(list_imports(house)) == 2
    at = drop(at, ("again.log", PAIR))
    assert list(at.dataframe[0].value["result"]) == ["already there"]
    at = confirm(at)
    assert "0 taken in, 1 already there, 0 cells added." in words(at) and "again.log: already there." in words(at)
    assert len(list_imports(house)) == 2


def test_the_same_file_twice_in_one_drop(open_page: OpenPage, house: House) -> None:
    at = confirm(drop(open_page("imports", person="Ada"), ("run.log", PAIR), ("run.log", PAIR)))
    assert not at.exception and "1 taken in, 1 already there, 2 cells added." in words(at)


def test_without_a_name_nothing_is_taken_in(open_page: OpenPage, house: House) -> None:
    at = confirm(drop(open_page("imports"), ("run.log", PAIR)))
    assert not at.exception and "Your name (in the menu) is needed." in words(at) and list_imports(house) == []


def test_unreadable_files_are_named_and_left_out(open_page: OpenPage, house: House) -> None:
    files = [("empty.log", b""), ("lying.json", bytes(range(256)) * 50), ("prose.txt", b"no engine printed this\n"), ("good.log", PAIR)]
    at = drop(open_page("imports", person="Ada"), *files)
    assert not at.exception
    said = words(at)
    assert "✕ empty.log: The file is empty." in said and "✕ lying.json: This is binary data" in said
    assert "✕ prose.txt: Nothing in this text is output of a known engine or tool." in said
    assert next(b.label for b in at.button if b.label.startswith("Take in")) == "Take in 1 of 4 files"
    confirm(at)
    assert [row["name"] for row in list_imports(house)] == ["good.log"]
    at = drop(open_page("imports", person="Ada"), *files[:3])
    assert next(b for b in at.button if b.label.startswith("Take in")).disabled


def test_a_file_above_the_limit_is_refused(open_page: OpenPage) -> None:
    at = drop(open_page("imports", person="Ada"), ("big.log", PAIR + b"\n" * LIMIT))
    assert not at.exception and "at most 20 MiB are taken in." in words(at)


def test_hostile_names_and_models_stay_words(open_page: OpenPage, house: House) -> None:
    table = "| model | size | params | backend | ngl | test | t/s |\n| --- | ---: | ---: | --- | --: | ---: | ---: |\n"
    table += "| =1+1 **b** <img src=x> | 1.00 GiB | 7.00 B | CUDA | 99 | tg64 | 10.00 ± 0.10 |\n"
    name = '=HYPERLINK("x") **bold** <script>alert(1)</script> :smile: [l](http://x).md'
    at = drop(open_page("imports", person="Ada"), (name, table.encode()))
    assert not at.exception
    assert at.dataframe[0].value["file"][0] == f"'{name}" and at.dataframe[1].value["model"][0] == "'=1+1 **b** <img src=x>"
    label = at.expander[0].label
    assert "**bold**" not in label and "[l](http" not in label and "\\*\\*bold\\*\\*" in label
    confirm(at)
    at = open_page("matrix", provenance="imported")
    assert not at.exception
    markdown = cells(at.table[0].value)
    assert "\\*\\*b\\*\\*" in markdown and "<img" not in markdown.replace("\\<img", "")
    digest = list_imports(house)[0]["sha256"]
    at = open_page("receipt", cell=f"imported~{digest}~0")
    assert not at.exception and "⇣ imported: not usable for keep" in words(at)
    assert any(name in element.value for element in at.text)


def test_a_named_kind_that_does_not_fit_is_a_sentence(open_page: OpenPage) -> None:
    at = open_page("imports", person="Ada")
    at.selectbox(key="import-kind").select("vllm_bench")
    at = drop(at, ("run.log", PAIR))
    assert not at.exception and "This was to be read as vllm_bench, but nothing in it is output of that kind." in words(at)


def test_readings_without_cells_and_cells_without_a_column_say_so(open_page: OpenPage) -> None:
    at = drop(open_page("imports", person="Ada"), ("load.log", PLACED), ("ngram.log", NGRAM))
    assert not at.exception
    said = words(at)
    assert "Kept as a reading, without a cell: no finished request stands in it: a placement, no decode rate." in said
    assert "Without a known n_max 1 of 1 have no column in the matrix: kept, not shown there." in said


def test_matrix_and_receipt_carry_the_mark(open_page: OpenPage, house: House) -> None:
    import_files(house, [("run.log", PAIR)], who="Ada")
    at = open_page("matrix", provenance="imported")
    assert not at.exception
    said = words(at).replace("\\", "").replace("\u2060", "")
    assert "⇣ imported, not measured here · run.log · server_log" in said and "transcribed, not measured" not in said
    assert "not in the file: n_max 1, n_max 3" in said
    digest = hashlib.sha256(PAIR).hexdigest()
    at = open_page("receipt", cell=f"imported~{digest}~1")
    said = words(at)
    assert not at.exception and "▲ WINS 1.70×" in said and "⇣ imported: not usable for keep" in said
    assert "(D + V) ÷ a = 8.1 ms  <  13.7 ms = H" in said and "no keep can rest on it" in said
    assert "This is the baseline" in words(open_page("receipt", cell=f"imported~{digest}~0"))
    at = open_page("price", cell=f"imported~{digest}~1")
    assert not at.exception and round(float(at.session_state["price-h"]), 1) == 13.7
    at = open_page("home")
    assert not at.exception
