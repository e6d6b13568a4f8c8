"""Screenshots of the pages, light and dark, wide and narrow, over a real small sweep: `make shots` writes docs/shots/.

`python -m tests.browser.shots work` takes those of proposing, running and deciding alone, `… results` those of the figures.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.app_process import ROOT, App, launch_options
from tests.browser.steps import go, main_text, name_oneself, propose, reject, sees, settled, wait_for

TARGET = ROOT / "docs" / "shots"
AREAS = ("work", "results")
WIDE, NARROW, TALLEST = 1280, 390, 5000


def main(areas: list[str]) -> None:
    """Runs a sweep, then photographs the pages of these areas."""
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        app = App(Path(folder))
        app.start()
        browser = playwright.chromium.launch(**launch_options())
        try:
            worksheet, run_id = measured(browser, app)
            if "work" in areas:
                work(browser, app.url, worksheet, run_id)
            if "results" in areas:
                results(browser, app.url, run_id)
        finally:
            browser.close()
            app.stop()


def measured(browser: Browser, app: App) -> tuple[str, str]:
    """One sweep of the dense model, photographed while it runs and before and after it is decided; ids of worksheet and run."""
    page = browser.new_page(viewport={"width": WIDE, "height": 1500})
    page.set_default_timeout(60_000)
    worksheet = propose(page, app.url, "made-dense", production_c=2, n_max=2)
    sees(page, "Run sweep")
    photograph(browser, page.url, "worksheet-empty", "light", WIDE)
    page.get_by_role("button", name="Run sweep").click()
    page.get_by_role("link", name=re.compile("Open run")).click()
    page.wait_for_url(re.compile("run="))
    run_id = page.url.rpartition("run=")[2]
    wait_for(page, lambda: "● n=1" in main_text(page), 240, "n=1")
    whole(page, "running")
    photograph(browser, page.url, "running-narrow-dark", "dark", NARROW)
    wait_for(page, lambda: "Stop" not in main_text(page), 400, "the end")
    for width, name in ((WIDE, "worksheet-open-light"), (NARROW, "worksheet-open-narrow")):
        photograph(browser, f"{app.url}/worksheet?worksheet={worksheet}", name, "light", width)
    go(page, f"{app.url}/worksheet?worksheet={worksheet}")
    name_oneself(page, "Ada")
    sees(page, "Verdict")
    reject(page, "No tool suite was run on either side.", "The suite comes before the speed.")
    page.close()
    return worksheet, run_id


def work(browser: Browser, url: str, worksheet: str, run_id: str) -> None:
    """Proposing, running, deciding: all pages at 1280 px, those that are read most in the dark theme and at 390 px too."""
    pages = {"home": "", "worksheet": f"worksheet?worksheet={worksheet}", "run": f"run?run={run_id}", "decision": "decision?entry=1"}
    more = ("propose", "runs", "worksheets", "ledger", "runbook", "checklists", "boxes", "imports", "health")
    for name, address in {**pages, **{one: one for one in more}}.items():
        photograph(browser, f"{url}/{address}", f"{name}-light", "light", WIDE)
    for name, address in {**pages, "ledger": "ledger"}.items():
        photograph(browser, f"{url}/{address}", f"{name}-dark", "dark", WIDE)
        photograph(browser, f"{url}/{address}", f"{name}-narrow", "light", NARROW)


def results(browser: Browser, url: str, run_id: str) -> None:
    """The results area at 1280 and at 390 px, light and dark."""
    cell = f"receipt?cell={run_id}-1-1"
    for scheme in ("light", "dark"):
        photograph(browser, f"{url}/{cell}", f"receipt-{scheme}", scheme, WIDE)
    photograph(browser, f"{url}/{cell}", "receipt-narrow-light", "light", NARROW)
    figures(browser, url)


def figures(browser: Browser, url: str) -> None:
    """Pages of the results area that show something before anything is measured."""
    for scheme in ("light", "dark"):
        photograph(browser, f"{url}/matrix", f"matrix-{scheme}", scheme, WIDE)
        photograph(browser, f"{url}/matrix", f"matrix-narrow-{scheme}", scheme, NARROW)
        photograph(browser, f"{url}/receipt?cell=published~deepseek-q8-14~3", f"receipt-losing-{scheme}", scheme, WIDE)
        photograph(browser, f"{url}/price", f"price-{scheme}", scheme, WIDE)
    photograph(browser, f"{url}/price", "price-narrow-light", "light", NARROW)
    photograph(browser, f"{url}/matrix?curves=Speed-up+against+spill", "matrix-spill-light", "light", WIDE)
    for name in ("prefill", "concurrency", "suites", "coverage"):
        photograph(browser, f"{url}/{name}", f"{name}-light", "light", WIDE)


def photograph(browser: Browser, url: str, name: str, scheme: str, width: int) -> None:
    """One page in a browser of its own."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(60_000)
    go(page, url)
    if width == WIDE:  # on a phone the menu with the name is folded away
        name_oneself(page, "Ada")
    page.wait_for_timeout(800)
    settled(page)
    if page.get_by_test_id("stPlotlyChart").count():
        page.locator(".js-plotly-plot .main-svg").first.wait_for()
    whole(page, name)
    context.close()


def whole(page: Page, name: str) -> None:
    """The page as tall as what stands on it: it scrolls within itself, so a picture of the whole document would be cut."""
    height = page.evaluate("() => document.querySelector('[data-testid=stMain]').scrollHeight")
    page.set_viewport_size({"width": page.viewport_size["width"], "height": min(max(int(height), 600), TALLEST)})  # type: ignore[index]
    page.wait_for_timeout(400)
    settled(page)
    page.screenshot(path=TARGET / f"{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:] or list(AREAS))
