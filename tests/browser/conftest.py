"""One app and one browser page for each walk. The browser ends with its file: its event loop must not outlive it in this thread."""

from __future__ import annotations

import pytest
from playwright.sync_api import sync_playwright

from tests.browser.app_process import App, launch_options


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(**launch_options())
        yield running
        running.close()


@pytest.fixture
def page(browser):
    context = browser.new_context(viewport={"width": 1366, "height": 900})
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()


@pytest.fixture
def app(tmp_path):
    running = App(tmp_path)
    running.start()
    yield running
    running.stop()
    assert running.end_ours() == {}, "a test left an agent or an engine behind"
