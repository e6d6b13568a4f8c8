"""A change that pays, walked to a signed keep on a box whose engine really waits; then an engine update that puts the keep in doubt."""

from __future__ import annotations

import io
import re

import pytest
from playwright.sync_api import expect
from pypdf import PdfReader

from core.store.open import open_store
from tests.browser.app_process import App
from tests.browser.steps import (
    choose_verdict,
    go,
    main_text,
    name_oneself,
    pick,
    propose,
    read_and_sign,
    run_of_worksheet,
    sees,
    settled,
    type_scores,
    wait_for,
)
from tests.fakes.scripted_lab import ScriptedLab

SPEEDS = {"0": 200, "1": 300, "2": 240}  # tok/s: n_max 1 wins, 2 loses against it
SHORT = "Pull fields from a short document: long prompt, short answer (65 tokens)"
PAYS = {"speeds": SPEEDS, "accept": 0.9, "positions": [0.93, 0.6]}


@pytest.fixture
def lab(tmp_path):
    return ScriptedLab(tmp_path / "lab")


@pytest.fixture
def app(tmp_path, lab):
    running = App(tmp_path)
    lab.register(running.database)
    running.start()
    yield running
    running.stop()
    assert running.end_ours() == {}, "a test left an agent or an engine behind"


def signed_lines(app):
    journal = app.database.with_name(app.database.name + ".d") / "decisions.jsonl"
    return journal.read_text("utf-8").splitlines() if journal.exists() else []


def memo_text(page):
    """The memo as the browser saves it, read back: one page of text."""
    with page.expect_download() as saved:
        page.get_by_role("button", name="Memo, PDF").click()
    reader = PdfReader(io.BytesIO(saved.value.path().read_bytes()))
    assert len(reader.pages) == 1
    return " ".join(reader.pages[0].extract_text().split())


def test_a_keep_is_signed_once_exported_and_goes_stale_by_a_newer_run(app, page, lab):
    lab.script(**PAYS, version="10473 (abc1234f)")
    sheet = propose(page, app.url, lab.MODEL, box=lab.BOX_NAME, n_max=2, production_c=2, workload=SHORT)
    sees(page, "missing: run the sweep")
    run_id = run_of_worksheet(page, app.url, sheet)
    name_oneself(page, "Ada")
    sees(page, "Suggestion: KEEP, n_max=1")
    assert "✕ fail" not in main_text(page), "only what a person types is open"
    pick(page, "keep", "Open gates: tool suite within noise or better")
    type_scores(page, "baseline", "tool-calls v3", "80, 82")
    type_scores(page, "candidate", "tool-calls v3", "81, 83")
    sees(page, "all gates pass")
    sheet_text = main_text(page)
    assert "10 of 12 priced" in sheet_text, "fit and failure modes are for people to type, and no gate"
    assert re.search(r"At c=2: n=1 1\.[345]\d×\. n_max 1 is the fastest beyond noise \(n=1 1\.50×, n=2 1\.20×\)\.", sheet_text)
    assert "typed in by Ada" in sheet_text and "b10473 (abc1234f)" in sheet_text

    choose_verdict(page, "keep")
    shown = read_and_sign(page, double=True)
    for line in (
        'verdict           "keep"',
        "winning n_max     1",
        'owner             "Ada"',
        f'run               "{run_id}"',
        "gates open        []",
    ):
        assert line in shown, f"{line} was not shown before it was signed:\n{shown}"
    assert len(signed_lines(app)) == 1, "two clicks sign once"
    page.get_by_role("link", name="Entry 1 in the ledger").click()
    sees(page, "hashes: of this entry")
    page.go_back()
    sees(page, "This is final")
    assert page.get_by_role("button", name="Sign as").count() == 0 and len(signed_lines(app)) == 1, "going back signs nothing"
    page.go_forward()
    sees(page, "hashes: of this entry")
    settled(page)
    entry = main_text(page)

    entry_sha, _, evidence_sha = re.findall(r"[0-9a-f]{64}|\(first entry\)", entry.rpartition("hashes:")[2])[:3]
    memo = memo_text(page)
    for word in ("Decision memo: KEEP, entry 1", "owner Ada", "lab-dense", "n=1 at c=2", "1.50× ▲", "1.20× ▲", "engine build"):
        assert word in memo, f"{word} is missing in the memo:\n{memo}"
    for sha in (entry_sha, evidence_sha):
        assert sha in memo.replace(" ", ""), "the hashes of the ledger stand in the memo"

    go(page, f"{app.url}/ledger")
    sees(page, "1 of 1 entries")
    assert "KEEP" in main_text(page) and "STALE" not in main_text(page)
    go(page, f"{app.url}/runbook")
    sees(page, "Run: n_max 1: 1.50× at one stream")
    assert re.search(r"n_max 2: 1\.20×, pays, and less than the winner; \S+", main_text(page)), "the losing cell stands with its reason"

    lab.script(**PAYS, version="10999 (def5678a)", slower_by_start=0.04)
    newer = propose(page, app.url, lab.MODEL, box=lab.BOX_NAME, n_max=1, workload=SHORT)
    run_of_worksheet(page, app.url, newer)
    sees(page, "The baseline moved during the run")
    pick(page, "keep", "Open gates: ")
    assert "no drift" in main_text(page).rpartition("Open gates: ")[2]
    expect(page.get_by_role("button", name="Read what will be signed")).to_be_disabled()
    page.get_by_role("link", name=re.compile("done")).click()
    sees(page, "drifted: the baseline moved, this run cannot support keep")

    go(page, app.url)
    sees(page, "Entry 1 went stale")
    assert "engine build: b10473 (abc1234f) → b10999 (def5678a)" in main_text(page)
    go(page, f"{app.url}/ledger")
    sees(page, "◷ STALE")
    page.get_by_role("link", name="Entry 1: evidence, memo, hashes").click()
    page.wait_for_url("**/decision?*")
    sees(page, "the run that showed it")
    settled(page)
    name_oneself(page, "Ada")
    page.get_by_role("button", name="Re-check: open a worksheet with the same question").click()
    wait_for(page, lambda: "worksheet=w-" in page.url, 60, "the worksheet of the re-check")
    sees(page, "Re-check of entry 1: Turn on MTP for lab-dense")
    for word in ("lab-dense · scripted on bench lab", "n_max up to 2", "production concurrency 2", "missing"):
        assert word in main_text(page), f"{word} was not carried into the re-check"
    app.stop()
    database, store = open_store(app.database)
    (decision,) = store.decisions.all()
    database.close()
    assert (decision["verdict"], decision["owner"], decision["evidence"]["run_id"]) == ("keep", "Ada", run_id)
    assert decision["sha"] == entry_sha and {gate["state"] for gate in decision["evidence"]["gates"]} == {"pass"}
