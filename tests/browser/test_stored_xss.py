"""Payloads in every text that a person, a file, a model or a log can bring: Chromium shows them as text, no dialog opens, nothing runs."""

from __future__ import annotations

import pytest

from core.bootstrap import build
from core.config import Settings
from core.ui.menu import ENTRIES
from tests.browser.app_process import App
from tests.browser.steps import settled
from tests.fakes.hostile_house import fill

PAYLOADS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    "</textarea><script>alert(1)</script>",
    "<iframe src=javascript:alert(1)>",
    "<a href=javascript:alert(1)>x</a>",
    "[x](javascript:alert(1))",
    "![x](javascript:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "<details open ontoggle=alert(1)>",
    "<body onpageshow=alert(1)>",
    "<math><mi//xlink:href='data:x,<script>alert(1)</script>'>",
    "${alert(1)} {{alert(1)}} #{alert(1)}",
    "$\\href{javascript:alert(1)}{x}$",
    ":red[<img src=x onerror=alert(1)>]",
    "<style>@import'//evil.example/x.css'</style>",
    "\u202e<script>alert(1)</script>",
    "&lt;img src=x onerror=alert(1)&gt;",
]
LIVE = 'script,iframe,img[src="x"],a[href^="javascript" i],a[href^="data:" i],details[ontoggle],svg[onload]'
QUIET = {
    "price",
    "prefill",
    "concurrency",
    "suites",
    "coverage",
    "runbook",
    "health",
    "propose",
}  # they draw figures, or what others draw too


@pytest.fixture
def hostile(tmp_path):
    """An app whose every kind of row was written by somebody hostile."""
    running = App(tmp_path)
    services = build(Settings(db=running.database, local_dir=running.folder / "local"))
    ids = fill(services.house, PAYLOADS)
    services.database.close()
    services.jobs.close()
    running.start()
    yield running, ids
    running.stop()


def test_no_dialog_no_script_and_no_live_element_on_any_page(hostile, page):
    app, ids = hostile
    dialogs, asked = [], set()
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: asked.add(request.url))
    seen = 0
    for entry in [one for one in ENTRIES if one.name not in QUIET]:
        query = "&".join(f"{key}={value}" for key, value in ids.items())
        page.goto(f"{app.url}/{entry.name}?{query}")
        settled(page)
        for tab in page.get_by_role("tab").all():
            tab.click()
        settled(page)  # a tab may be drawn when it is opened, and its expanders with it
        closed = page.locator("[data-testid='stExpander'] summary:visible")
        for number in range(min(6, closed.count())):
            closed.nth(number).click()
        settled(page)
        live = page.evaluate(
            "names => [...document.querySelectorAll(names)].filter(one => /alert|javascript|data:text/i.test(one.outerHTML))"
            ".map(one => one.outerHTML.slice(0, 200))",
            LIVE,
        )
        assert live == [], entry.name
        seen += "alert(1)" in page.get_by_test_id("stMain").inner_text()
    assert dialogs == []
    here = (app.url, f"ws://127.0.0.1:{app.port}", "data:", "blob:")
    assert {url for url in asked if not url.startswith(here)} == set(), "no request leaves this host"
    assert seen >= 8, "the payloads are there to be seen, as text"
