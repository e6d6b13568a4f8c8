"""A whole way in a real browser: propose, run, app killed and restarted, matrix, receipt, worksheet, decision, ledger; and Stop."""

from __future__ import annotations

import json
import re
import socket
import urllib.request

from playwright.sync_api import expect

from core.domain.run import FINAL
from core.store.open import open_store
from tests.browser.steps import READ, choose, go, main_text, name_oneself, pick, propose, reject, sees, settled, wait_for


def stage_line(page, name):
    """The mark in front of a stage: ● done, ◐ now, ○ planned."""
    found = re.search(rf"(\S) {re.escape(name)}$", main_text(page), re.MULTILINE)
    return found.group(1) if found else None


def events_of(app, run_id, *, n_max):
    """Samples of one arm in the run's ledger beside the database, which the app holds."""
    ledger = app.folder / "walk.duckdb.d" / "ledger" / f"{run_id}.jsonl"
    events = [json.loads(line) for line in ledger.read_bytes().splitlines()] if ledger.exists() else []
    return [event for event in events if event["kind"] == "sample" and event["n_max"] == n_max]


def test_from_proposal_to_signed_decision(app, page):
    outside = []
    page.on("request", lambda request: outside.append(request.url) if not request.url.startswith((app.url, "data:", "blob:")) else None)
    go(page, app.url)
    expect(page.get_by_text("Price the bet. Keep the receipt.")).to_be_visible()
    go(page, f"{app.url}/matrix")
    sees(page, "DeepSeek Q8-MTP · 14 layers spilled")

    worksheet_id = propose(page, app.url, "made-dense", n_max=2)
    assert "missing" in main_text(page), "empty where nothing is measured yet"
    page.get_by_role("button", name="Run sweep").dblclick()
    page.get_by_role("link", name=re.compile("Open run")).click(timeout=60_000)
    page.wait_for_url(re.compile(r"run\?run="))
    run_id = page.url.rpartition("run=")[2]

    readings = []

    def n1_stands_and_n2_is_open():
        text = main_text(page)
        if re.search(r"● n=1\n+[\d.]+ \(\d of \d\)", text) and not events_of(app, run_id, n_max=2):
            readings.append(text)
        return len(readings) >= 2

    wait_for(page, n1_stands_and_n2_is_open, 480, "two readings with n=1 done and nothing of n=2")
    assert "tok/s" in main_text(page) and "Stop" in main_text(page)
    app.kill()
    app.start()
    go(page, f"{app.url}/run?run={run_id}")
    wait_for(page, lambda: "Stop" not in main_text(page) and stage_line(page, "baseline again") == "●", 480, "the end of the sweep")

    with urllib.request.urlopen(f"{app.url}/api/v1/matrix?provenance=measured") as answer:
        rows = json.load(answer)["rows"]
    assert [row["model"] for row in rows] == ["made-dense"]
    cells = rows[0]["cells"]
    assert cells["off"]["n"] >= 6 and cells["1"]["n"] >= 3 and cells["2"]["n"] >= 3, "noise may have asked for more than three"
    assert cells["1"]["accept_share"] == 1.0 and cells["1"]["accept_denominator"] == f"of {64 * cells['1']['n']} proposed"
    assert rows[0]["cells"]["3"]["status"] == "not_run"

    go(page, f"{app.url}/matrix")
    go(page, app.url + str(page.locator(f'td a[href*="{run_id}-1-1"]').get_attribute("href")))
    receipt = main_text(page)
    for tab, first in (("Command", "--spec-draft-n-max 1"), ("Raw log", "server-2.log")):
        page.get_by_role("tab", name=tab).click()
        sees(page, first)
        receipt += main_text(page)
    for word in ("launcher.py", "--spec-draft-n-max 1", "server-2.log", cells["1"]["accept_denominator"].split()[1], "spec-type draft-mtp"):
        assert word in receipt, f"{word} is missing on the receipt"

    assert page.get_by_test_id("stDataFrame").count() >= 2, "warm and cold samples stand in tables of their own"
    go(page, f"{app.url}/worksheet?worksheet={worksheet_id}")
    name_oneself(page, "Ada")
    sees(page, "Suggestion")
    for word in ("b11549", "sha256", "host only", "tokens per step", "c=1:", "Suggestion"):
        sees(page, word)
    pick(page, "keep", "Open gates")
    expect(page.get_by_role("button", name=READ)).to_be_disabled()
    page.get_by_test_id("stRadio").get_by_text("reject", exact=True).click()
    expect(page.get_by_role("button", name=READ)).to_be_enabled(timeout=60_000)
    page.get_by_role("button", name=READ).click()
    sees(page, "needs a reason")
    reject(page, "No tool suite was run: <b>not priced</b>.", "The suite comes first.")
    go(page, f"{app.url}/ledger")
    ledger = main_text(page)
    assert "REJECT" in ledger and "Ada" in ledger and "<b>not priced</b>" in ledger, "text is shown as text"
    assert outside == [], "no request leaves the machine"
    app.stop()
    _, store = open_store(app.database)
    (decision,) = store.decisions.all()
    assert decision["verdict"] == "reject" and decision["evidence"]["run_id"] == run_id and len(store.runs.find()) == 1
    assert (app.folder / "walk.duckdb.d" / "decisions.jsonl").read_text().count("\n") == 1


def test_stop_really_stops(app, page):
    propose(page, app.url, "made-dense", n_max=3, repetitions=8)
    page.get_by_role("button", name="Run sweep").click()
    page.get_by_role("link", name=re.compile("Open run")).click(timeout=60_000)
    page.wait_for_url(re.compile(r"run\?run="))
    run_id = page.url.rpartition("run=")[2]
    wait_for(page, lambda: stage_line(page, "baseline") == "◐" and bool(app.ours()), 120, "the running baseline")
    page.get_by_role("button", name="Stop").click()
    wait_for(page, lambda: "Stopped by" in main_text(page), 60, "the word of the stop")
    assert app.ours() == {}, "no process of ours is left"
    app.stop()
    _, store = open_store(app.database)
    run = store.runs.get(run_id)
    last = store.runs.events(run_id)[-1]
    for start in store.runs.events(run_id, kinds=("server_starting",)):
        argv = start["body"]["argv"]
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", int(argv[argv.index("--port") + 1]))) != 0, "the engine's port is closed"
    assert run["state"] == "cancelled" and run["state"] in FINAL
    assert last["kind"] == "run_finished" and last["body"]["outcome"] == "cancelled" and last["body"]["left"] == []


def test_forms_take_anything_and_lose_nothing(app, page):
    go(page, f"{app.url}/propose")
    name_oneself(page, "Ada")
    choose(page, "propose-model", "made-moe")
    hostile = "<img src=x onerror=alert(1)>" + "x" * 9_000
    field = page.get_by_label("Title")
    expect(field).to_have_value("Turn on MTP for made-moe")
    field.fill(hostile)
    field.press("Enter")
    settled(page)
    page.locator(".st-key-propose-n-max input").fill("-5")
    page.locator(".st-key-propose-n-max input").press("Enter")
    settled(page)
    page.get_by_role("button", name="Open worksheet").click()
    sees(page, "at most 200 characters")
    assert "at least 1" in main_text(page)
    assert page.get_by_label("Title").input_value() == hostile, "what was typed is still there"
    assert page.locator("img[src='x']").count() == 0
    for address in ("run?run=nonsense", "receipt?cell=%3Cb%3E", "worksheet?worksheet=w-none"):
        go(page, f"{app.url}/{address}")
        sees(page, "Not found")
