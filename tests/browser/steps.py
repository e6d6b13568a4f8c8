"""What a person does on the pages, by what the person sees."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from playwright.sync_api import Page, expect


def settled(page: Page) -> None:
    """The page has finished its script run."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning", timeout=60_000)
    page.wait_for_timeout(300)


def go(page: Page, url: str) -> None:
    """Opens an address and waits for the page."""
    page.goto(url)
    settled(page)


def name_oneself(page: Page, name: str) -> None:
    """Gives the name under which things are proposed and decided."""
    field = page.get_by_label("Your name")
    field.fill(name)
    field.press("Enter")
    settled(page)


def choose(page: Page, key: str, option: str) -> None:
    """Picks an option of a select box."""
    page.locator(f".st-key-{key} input").click()
    page.get_by_role("option", name=option, exact=True).click()
    settled(page)


def number(page: Page, key: str, value: int) -> None:
    """Types a number."""
    field = page.locator(f".st-key-{key} input")
    field.fill(str(value))
    field.press("Enter")
    settled(page)


def propose(page: Page, url: str, model: str, *, n_max: int = 3, production_c: int = 1, repetitions: int = 3, workload: str = "") -> str:
    """Fills the proposal and opens its worksheet; answers with the worksheet's id."""
    go(page, f"{url}/propose")
    name_oneself(page, "Ada")
    choose(page, "propose-model", model)
    if workload:
        choose(page, "propose-workload", workload)
    number(page, "propose-n-max", n_max)
    number(page, "propose-concurrency", production_c)
    number(page, "propose-repetitions", repetitions)
    page.get_by_role("button", name="Open worksheet").click()
    page.wait_for_url(re.compile(r"worksheet=w-"), timeout=60_000)
    settled(page)
    return page.url.rpartition("worksheet=")[2]


READ = "Read what will be signed"


def main_text(page: Page) -> str:
    """What stands on the page beside the menu."""
    return page.get_by_test_id("stMain").inner_text()


def wait_for(page: Page, holds: Callable[[], bool], limit_s: float, what: str) -> None:
    """Waits for something that takes as long as it takes."""
    end = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < end, f"{what} did not come within {limit_s} s; the page says:\n{main_text(page)[:3000]}"
        page.wait_for_timeout(300)


def sees(page: Page, words: str, limit_s: float = 60) -> None:
    """Waits until these words stand on the page."""
    wait_for(page, lambda: words in main_text(page), limit_s, f"“{words}”")


def pick(page: Page, option: str, then: str) -> None:
    """Picks a radio option; clicks again should a redraw of the page have swallowed the click."""
    for _ in range(3):
        page.get_by_test_id("stRadio").get_by_text(option, exact=True).click()
        settled(page)
        if then in main_text(page):
            return
    sees(page, then, 20)


def fill(page: Page, label: str, text: str) -> None:
    """Types into a text area and leaves it."""
    field = page.get_by_label(label, exact=True)
    field.fill(text)
    field.press("Control+Enter")
    settled(page)


def reject(page: Page, reason: str, against: str) -> None:
    """Rejects the worksheet's change; says why against the suggestion where that is asked."""
    page.get_by_test_id("stRadio").get_by_text("reject", exact=True).click()
    expect(page.get_by_role("button", name=READ)).to_be_enabled(timeout=60_000)
    fill(page, "Reason", reason)
    if page.get_by_label("Why against the suggestion").count():
        fill(page, "Why against the suggestion", against)
    page.get_by_role("button", name=READ).click()
    sees(page, "You are about to sign exactly this")
    settled(page)
    page.get_by_role("button", name="Sign as").click()
    sees(page, "This is final")
