"""Two people in two browsers at one worksheet: the second sees both texts, chooses, and nothing is lost."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.steps import go, main_text, name_oneself, propose, sees, settled, wait_for

HOSTILE = "<img src=x onerror=alert(1)> **bold**"


def fit(page: Page, *, then: str | None = None):
    """Opens the candidate's fit field; types into it and leaves it."""
    field = page.get_by_role("textbox", name="fit (memory headroom, failed flags), candidate")
    if not field.count():
        page.locator("[class*='-fit-candidate-open'] button:visible").first.click()
    expect(field).to_be_visible()
    if then is not None:
        field.fill(then)
        field.press("Control+Enter")
        settled(page)
    return field


def test_the_second_of_two_browsers_sees_the_merge_and_loses_nothing(app, browser, page):
    sheet = propose(page, app.url, "made-dense", n_max=1)
    other = browser.new_context(viewport={"width": 390, "height": 800})
    other.set_default_timeout(60_000)
    second = other.new_page()
    go(second, f"{app.url}/worksheet?worksheet={sheet}")
    second.get_by_test_id("stExpandSidebarButton").click()
    name_oneself(second, "Bo")
    second.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click(force=True)
    assert fit(second).input_value() == "", "Bo looks at an empty field"
    fit(page, then="12 GiB free")
    sees(page, "typed in by Ada")
    fit(second, then=HOSTILE)
    sees(second, "Two people changed")
    second.keyboard.press("Escape")
    said = main_text(second)
    assert "12 GiB free" in said and HOSTILE in said and second.locator("img[src='x']").count() == 0
    go(second, second.url)
    wait_for(
        second, lambda: "Two people changed" in main_text(second) or "local identity" in second.inner_text("body"), 60, "the page again"
    )
    second.get_by_test_id("stExpandSidebarButton").click()
    name_oneself(second, "Bo")
    second.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click(force=True)
    sees(second, "Two people changed")
    second.get_by_role("button", name="Save merged text").click()
    wait_for(second, lambda: "Two people changed" not in main_text(second), 60, "the end of the merge")
    go(page, page.url)
    sees(page, HOSTILE)
    assert "12 GiB free" in main_text(page)
    page.get_by_text(re.compile(r"History \(3\)")).click()
    sees(page, "set aside, another text stood by then")
    other.close()
