"""What a person does on the pages, by what the person sees."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from playwright.sync_api import Page, expect

from core.domain.run import short


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


def choose_filter(page: Page, key: str, option: str) -> None:
    """Sets a filter of the matrix, which lie behind one button."""
    if page.locator(f".st-key-{key} input").count() == 0:
        page.get_by_test_id("stPopover").get_by_role("button", name="Filters").click()
    choose(page, key, option)


def number(page: Page, key: str, value: int) -> None:
    """Types a number."""
    field = page.locator(f".st-key-{key} input")
    field.fill(str(value))
    field.press("Enter")
    settled(page)


def propose(
    page: Page, url: str, model: str, *, box: str = "", n_max: int = 3, production_c: int = 1, repetitions: int = 3, workload: str = ""
) -> str:
    """Fills the proposal and opens its worksheet; answers with the worksheet's id. `box` "": this machine, chosen as it stands."""
    go(page, f"{url}/propose")
    name_oneself(page, "Ada")
    if box:
        choose(page, "propose-box", box)
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
        assert time.monotonic() < end, (
            f"{what} did not come within {limit_s} s; the page says:\n{main_text(page)[:1500]}\n…\n{main_text(page)[-3000:]}"
        )
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


def run_of_worksheet(page: Page, url: str, worksheet_id: str, limit_s: float = 240) -> str:
    """Starts the worksheet's sweep, watches it on its page, and stays on the worksheet until it has filled itself; the run's id."""
    page.get_by_role("button", name="Run sweep").click()
    page.get_by_role("link", name=re.compile("Open run")).click(timeout=60_000)
    page.wait_for_url(re.compile(r"run\?run="))
    run_id = page.url.rpartition("run=")[2]
    wait_for(page, lambda: "● n=1" in main_text(page), limit_s, "n=1 on the page of the run")
    go(page, f"{url}/worksheet?worksheet={worksheet_id}")
    sees(page, f"{short(run_id)}: done", limit_s)
    settled(page)
    return run_id


def type_scores(page: Page, side: str, suite: str, scores: str) -> None:
    """Types the scores of one side into the suite's row."""
    page.get_by_role("button", name="✎ scores").click()
    form = page.get_by_test_id("stForm").filter(has=page.get_by_role("button", name="Save scores"))
    form.get_by_text(side, exact=True).click()
    for label, text in (("Suite", suite), ("Scores", scores)):
        form.get_by_label(label, exact=True).fill(text)
    form.get_by_role("button", name="Save scores").click()
    sees(page, scores.partition(",")[0])
    page.keyboard.press("Escape")
    settled(page)


def choose_verdict(page: Page, option: str) -> None:
    """Picks keep or reject where it is possible; clicks again should a redraw of the page have swallowed the click."""
    button = page.get_by_role("button", name=READ)
    for _ in range(3):
        page.get_by_test_id("stRadio").get_by_text(option, exact=True).click()
        settled(page)
        if button.is_enabled():
            return
    expect(button).to_be_enabled()


def read_and_sign(page: Page, *, double: bool = False) -> str:
    """Has the text shown, signs it (`double`: with two clicks) and answers with the text."""
    read = page.get_by_role("button", name=READ)
    signing = page.locator(".st-key-decision-signing")
    for _ in range(3):
        read.click()
        settled(page)
        if signing.count():
            break
    sees(page, "You are about to sign exactly this")
    settled(page)
    text = signing.get_by_test_id("stCode").inner_text()
    sign = page.get_by_role("button", name="Sign as")
    (sign.dblclick if double else sign.click)()
    sees(page, "This is final")
    return text


def reject(page: Page, reason: str, against: str) -> None:
    """Rejects the worksheet's change; says why against the suggestion where that is asked."""
    choose_verdict(page, "reject")
    fill(page, "Reason", reason)
    if page.get_by_label("Why against the suggestion").count():
        fill(page, "Why against the suggestion", against)
    read_and_sign(page)
