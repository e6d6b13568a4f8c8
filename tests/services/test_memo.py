"""The memo in both forms, read back; the runbook; everything exported, with formulas put out of action."""

from __future__ import annotations

import csv
import io
import json
import tomllib

import pyarrow.parquet
import pypdf
import pytest

from core.errors import InvalidInput
from core.services.decisions import decide
from core.services.exports import export_all
from core.services.ledger import ledger_entry_of
from core.services.memo import memo_of
from core.services.memo_html import memo_html
from core.services.memo_pdf import memo_pdf
from core.services.reference_sheets import propose_from_reference
from core.services.runbook import runbook, runbook_markdown
from core.services.worksheets import propose, type_suite, type_text
from tests.fakes.measured_run import write_run

ASKED = {"title": "MTP", "box_id": "this-machine", "engine_id": "embedded", "model": "made-moe", "workload_id": "chat-short"}
HOSTILE = '<script>alert("1")</script> **b** [x](javascript:y) 漢字 😀 ▼ × –'


@pytest.fixture
def kept(house):
    sheet = propose(house, {**ASKED, "title": HOSTILE, "production_c": 4}, who="Ada")
    write_run(house, worksheet_id=sheet, model="made-moe", workload_id="chat-short", production={1: [50, 51, 52], 0: [40, 41, 42]})
    for side, scores in (("baseline", [50.0, 52.0]), ("candidate", [48.0, 51.0])):
        type_suite(house, sheet, side, {"suite": "tools", "scores": scores}, by="Bo")
    type_text(house, sheet, "failure_modes", "candidate", "=HYPERLINK(1)", by="Bo")
    return decide(house, {"worksheet_id": sheet, "verdict": "keep", "owner": "Ada", "reason": HOSTILE})


def pdf_text(data: bytes) -> tuple[int, str]:
    read = pypdf.PdfReader(io.BytesIO(data))
    return len(read.pages), "\n".join(page.extract_text() for page in read.pages)


def test_the_pdf_is_one_page_and_says_what_the_entry_holds(house, kept):
    pages, text = pdf_text(memo_pdf(memo_of(ledger_entry_of(house, 1))))
    assert pages == 1
    for said in (
        "Decision memo: KEEP, entry 1", "owner Ada", "22.0–22.4 (6)", "1.18× ▲", "0.97× ▼", "n=1 at c=4", "50.0–52.0 (3)", "1.24× ▲",
        "speculative step D + V", "71.6 ms", "no drift", "same everything except the change", "No other speculation method was tried.",
        kept["sha"], kept["evidence_sha256"], kept["details"]["signed_sha256"], "<script>alert",
        "Taken under: engine build b10473 (abc1234); model artifact abababababab…;",
    ):  # fmt: skip
        assert said in text, said
    assert "\ufffd" in text, "what the font lacks is marked, not dropped"


def test_the_longest_words_still_fit_one_page(house, kept):
    long = {"reason": "word " * 399, "against_why": "w" * 2000, "old": {"label": "o" * 200, "fit": "f" * 2000, "failure_modes": "m" * 2000}}
    sheet = kept["worksheet_id"]
    decide(house, {"worksheet_id": sheet, "verdict": "reject", "owner": "A" * 80, **long})
    assert pdf_text(memo_pdf(memo_of(ledger_entry_of(house, 2))))[0] == 1


def test_the_html_is_self_contained_and_every_word_is_escaped(house, kept):
    page = memo_html(memo_of(ledger_entry_of(house, 1)))
    assert "<script" not in page and "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;" in page and "漢字 😀 ▼ × –" in page
    assert "http://" not in page and "https://" not in page and "src=" not in page and "default-src 'none'" in page


def test_a_memo_on_published_figures_says_so(house):
    sheet = propose_from_reference(house, "deepseek-q8-24", who="Ada", worksheet_id="w-1")
    decide(house, {"worksheet_id": sheet, "verdict": "reject", "owner": "Ada", "reason": "no"})
    text = pdf_text(memo_pdf(memo_of(ledger_entry_of(house, 1))))[1]
    for said in ("Transcribed figures", "no draft can win here", "100.8%", "0.86× ▼", "82% of proposed (denominator assumed)"):
        assert said in text, said


def test_the_runbook_has_the_winner_and_the_losing_cells_each_with_its_reason(house, kept):
    (page,) = runbook(house)
    assert (page["winner"]["n_max"], [cell["n_max"] for cell in page["losing"]]) == (1, [2])
    text = runbook_markdown(house)
    assert "- Run: n\\_max 1: 1.18× at one stream" in text and "- n\\_max 2: 0.97×, loses; " in text
    assert "<script" not in text.replace("\\<", "") and "\\*\\*b\\*\\*" in text and "\\[x\\]\\(javascript:y\\)" in text
    assert kept["sha"] in text and "No other speculation method was tried." in text


def test_everything_is_exported_and_formulas_are_put_out_of_action(house, kept, tmp_path):
    found = export_all(house, tmp_path / "out")
    out, listed = tmp_path / "out", {one["path"]: one for one in found["files"]}
    assert found["ledger"]["ok"] and {
        "csv/samples.csv",
        "json/decisions.jsonl",
        "parquet/cells.parquet",
        "matrix.csv",
        "runbook.md",
    } <= set(listed)
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["head"] == kept["sha"] and manifest["files"] == found["files"]
    with (out / "csv" / "worksheet_entries.csv").open(newline="") as handle:
        values = [row["value"] for row in csv.DictReader(handle)]
    assert len(values) == 3
    with (out / "csv" / "samples.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert len(rows) == listed["csv/samples.csv"]["rows"] == pyarrow.parquet.read_metadata(out / "parquet" / "samples.parquet").num_rows
    lines = (out / "json" / "decisions.jsonl").read_text().splitlines()
    assert json.loads(lines[0])["sha"] == kept["sha"] and (out / "memos" / "decision-1.html").exists()
    assert tomllib.loads((out / "recipes" / "decision-1.toml").read_text())
    for path in out.rglob("*.csv"):
        with path.open(newline="") as handle:
            cells = [cell for row in csv.reader(handle) for cell in row]
        assert not [cell for cell in cells if cell[:1] in ("=", "@", "+") or (cell[:1] == "-" and not cell[1:2].isdigit())], path


def test_a_formula_in_a_title_does_not_run(house, tmp_path):
    propose(house, {**ASKED, "title": "=1+1"}, who="@Ada")
    export_all(house, tmp_path / "out")
    with (tmp_path / "out" / "csv" / "worksheets.csv").open(newline="") as handle:
        (row,) = csv.DictReader(handle)
    assert (row["title"], row["created_by"]) == ("'=1+1", "'@Ada")


def test_a_folder_in_use_is_left_alone(house, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="new or empty"):
        export_all(house, tmp_path)
    with pytest.raises(InvalidInput):
        export_all(house, tmp_path / "mine.txt")
    assert [path.name for path in tmp_path.iterdir() if path.name == "mine.txt"] and (tmp_path / "mine.txt").read_text() == "mine"
