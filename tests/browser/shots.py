"""Screenshots of the pages, light and dark, wide and narrow, over a real small sweep: `make shots` writes docs/shots/."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.browser.app_process import ROOT, App, launch_options
from tests.browser.steps import go, main_text, name_oneself, propose, reject, sees, settled, wait_for

TARGET = ROOT / "docs" / "shots"


def main() -> None:
    """Runs a sweep, then photographs every page."""
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        app = App(Path(folder))
        app.start()
        browser = playwright.chromium.launch(**launch_options())
        try:
            addresses = measured(browser, app)
            for scheme in ("light", "dark"):
                for name, address in addresses.items():
                    photograph(browser, f"{app.url}/{address}", name, scheme, 1366)
            for name in ("receipt", "price"):
                photograph(browser, f"{app.url}/{addresses[name]}", f"{name}-narrow", "light", 390)
            results(browser, app.url)
        finally:
            browser.close()
            app.stop()


def results(browser: Browser, url: str) -> None:
    """The results area at 1280 and at 390 px, light and dark."""
    for scheme in ("light", "dark"):
        photograph(browser, f"{url}/matrix", "matrix", scheme, 1280)
        photograph(browser, f"{url}/matrix", "matrix-narrow", scheme, 390)
        photograph(browser, f"{url}/receipt?cell=published~deepseek-q8-14~3", "receipt-losing", scheme, 1280)
    photograph(browser, f"{url}/matrix?curves=Speed-up+against+spill", "matrix-spill", "light", 1280)
    for name in ("prefill", "concurrency", "suites", "coverage"):
        photograph(browser, f"{url}/{name}", name, "light", 1280)


def measured(browser: Browser, app: App) -> dict[str, str]:
    """One sweep of the dense model, photographed while it runs; addresses of the pages afterwards."""
    page = browser.new_page(viewport={"width": 1366, "height": 1500})
    worksheet = propose(page, app.url, "made-dense", production_c=2)
    sees(page, "Run sweep")
    settled(page)
    page.screenshot(path=TARGET / "worksheet-empty.png", full_page=True)
    page.get_by_role("button", name="Run sweep").click()
    page.get_by_role("link", name=re.compile("Open run")).click(timeout=60_000)
    page.wait_for_url(re.compile("run="))
    run_id = page.url.rpartition("run=")[2]
    wait_for(page, lambda: "● n=1" in main_text(page), 240, "n=1")
    page.screenshot(path=TARGET / "running.png", full_page=True)
    for scheme in ("dark",):
        photograph(browser, page.url, "running", scheme, 1366)
    wait_for(page, lambda: "Stop" not in main_text(page), 300, "the end")
    photograph(browser, f"{app.url}/worksheet?worksheet={worksheet}", "worksheet-open", "light", 1366)
    go(page, f"{app.url}/worksheet?worksheet={worksheet}")
    name_oneself(page, "Ada")
    sees(page, "Verdict")
    reject(page, "No tool suite was run on either side.", "The suite comes before the speed.")
    page.close()
    return {
        "home": "",
        "matrix": "matrix",
        "worksheet": f"worksheet?worksheet={worksheet}",
        "receipt": f"receipt?cell={run_id}-1-1",
        "run": f"run?run={run_id}",
        "ledger": "ledger",
        "boxes": "boxes",
        "price": "price",
        "propose": "propose",
    }


def photograph(browser: Browser, url: str, name: str, scheme: str, width: int) -> None:
    """One page, whole."""
    context = browser.new_context(viewport={"width": width, "height": 1500}, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    go(page, url)
    page.wait_for_timeout(1500)
    settled(page)
    if page.get_by_test_id("stPlotlyChart").count():
        page.locator(".js-plotly-plot .main-svg").first.wait_for(timeout=60_000)
        page.wait_for_timeout(500)
    page.screenshot(path=TARGET / f"{name}-{scheme}.png", full_page=True)
    context.close()


if __name__ == "__main__":
    main()
