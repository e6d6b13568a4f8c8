"""Receipt and price explorer in a real browser: log search, files that equal the screen, a link that shows the same in a fresh browser."""

from __future__ import annotations

import csv
import io
import json

import pytest
from playwright.sync_api import expect

from core.bootstrap import build
from core.config import Settings
from tests.browser.app_process import App
from tests.browser.steps import go, main_text, sees, settled, wait_for
from tests.fakes.measured_run import write_run


@pytest.fixture
def measured(tmp_path):
    """The app over a database that holds one run, and the run's id."""
    running = App(tmp_path)
    services = build(Settings(db=running.database, local_dir=tmp_path / "local"))
    run_id = write_run(services.house, drifted=True)
    services.jobs.close()
    services.database.close()
    running.start()
    yield running, run_id
    running.stop()


def fetched(page, label):
    """A file as the browser saves it."""
    with page.expect_download() as waiting:
        page.get_by_role("button", name=label).click()
    return waiting.value.path().read_bytes()


def fill(page, name, text):
    """Types into a field of the explorer."""
    field = page.locator(f".st-key-price-{name} input")
    field.fill(text)
    field.press("Enter")
    settled(page)


def test_from_a_losing_cell_to_a_what_if_that_somebody_else_opens(measured, page, browser):
    app, run_id = measured
    outside = []
    page.on("request", lambda request: outside.append(request.url) if not request.url.startswith((app.url, "data:", "blob:")) else None)
    go(page, f"{app.url}/receipt?cell={run_id}-2-1")
    sees(page, "The draft guesses 2 tokens ahead")
    for words in ("2. heat or other load: ● seen", "acceptance needed to break even", "the whole run again", "Dominant cost: verify."):
        sees(page, words)
    lines = list(csv.DictReader(io.StringIO(fetched(page, "Samples, CSV").decode())))
    assert [float(line["tok_per_s"]) for line in lines if line["counted"] == "True"] == [21.4, 21.6, 21.8]
    whole = json.loads(fetched(page, "Receipt, JSON"))
    assert f"{whole['explained']['ledger']['needed_share']:.1%}" in main_text(page), "the file says what the screen says"

    page.get_by_role("tab", name="Raw log").click()
    sees(page, "<b>not bold</b>")
    page.get_by_label("Search, literally").fill("[no](HTTP")
    page.get_by_label("Search, literally").press("Enter")
    sees(page, "1 of 3 lines hold it")
    assert page.get_by_test_id("stMain").locator("a[href='http://link']").count() == 0

    page.get_by_role("link", name="Play with these values").click()
    page.wait_for_url("**/price?*")
    settled(page)
    sees(page, "Values taken from this cell")
    fill(page, "wa", "100")
    sees(page, "assumption: 100% accepted")
    wait_for(page, lambda: "wa=100" in page.url, 30, "the address that says what was typed")
    address = page.url
    assert f"cell={run_id}-2-1" in address
    fresh = browser.new_context().new_page()
    go(fresh, address)
    sees(fresh, "assumption: 100% accepted")
    wait_for(fresh, lambda: main_text(fresh) == main_text(page), 30, "the very same words")
    fresh.context.close()

    fill(page, "n", "0")
    sees(page, "Has to be at least 1.")
    settled(page)
    expect(page.locator(".st-key-price-n input")).to_have_value("0")
    expect(page.locator(".st-key-price-wa input")).to_have_value("100")
    assert outside == [], "no request leaves the machine"
