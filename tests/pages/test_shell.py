"""The frame: menu, name, restart notice."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from core.bootstrap import Services
from core.config import ROOT
from core.services.local_door import LocalDoor
from core.ui import identity
from core.ui.components import person as person_module
from core.ui.components.person import person
from core.ui.menu import entry
from core.ui.state import NAME
from tests.pages.conftest import OpenPage, words

SHELL = str(ROOT / "core" / "ui" / "shell.py")


def test_the_name_is_kept_while_pages_change(services: Services) -> None:
    at = AppTest.from_file(SHELL, default_timeout=30).run()
    at.sidebar.text_input(key="person").input("  Ada  ").run()
    at.switch_page(entry("matrix").path).run()
    assert at.sidebar.text_input(key="person").value.strip() == "Ada"
    assert "Draftledger" in words(at) and "local identity" in words(at)


def test_without_a_name_there_is_none() -> None:
    assert person() == ""


def test_a_tab_from_before_a_restart_says_so(services: Services) -> None:
    fresh = AppTest.from_file(SHELL, default_timeout=30).run()
    assert not fresh.info
    fresh.sidebar.text_input(key="person").input("Ada").run()
    assert not fresh.info
    left = AppTest.from_file(SHELL, default_timeout=30)
    left.session_state["person"] = "Ada"
    assert "The server was started anew" in left.run().info[0].value


def test_a_page_that_needs_a_name_asks_for_it_and_the_menu_has_it_then(open_page: OpenPage) -> None:
    at = open_page("propose")
    at.text_input(key="person-here").set_value(" Ada ").run()
    assert not at.exception and at.sidebar.text_input(key="person").value.strip() == "Ada"
    assert "person-here" not in [field.key for field in at.text_input], "asked once"


def test_what_was_typed_into_a_proposal_survives_a_look_at_another_page(open_page: OpenPage) -> None:
    at = open_page("propose", person="Ada")
    at.text_input(key="propose-title").set_value("Mine").run()
    at.number_input(key="propose-n-max").set_value(5).run()
    at.switch_page(entry("boxes").path).run()
    at.switch_page(entry("propose").path).run()
    assert (at.text_input(key="propose-title").value, at.number_input(key="propose-n-max").value) == ("Mine", 5)


def test_a_field_that_comes_back_empty_is_filled_again(services: Services) -> None:
    at = AppTest.from_file(SHELL, default_timeout=30).run()
    at.sidebar.text_input(key="person").input("Ada").run()
    at.sidebar.text_input(key="person").set_value("").run()
    assert at.sidebar.text_input(key="person").value == "Ada", "only another name replaces a name"
    at.sidebar.text_input(key="person").set_value("Bo").run()
    assert at.sidebar.text_input(key="person").value == at.session_state[NAME] == "Bo"


class Browser:
    """A browser whose door is open, as the name's keeping sees it; a session at a time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.services = SimpleNamespace(door=LocalDoor(b"k" * 32))
        self.cookie = str(self.services.door.enter(self.services.door.token))
        monkeypatch.setattr(identity.st, "context", SimpleNamespace(cookies={self.services.door.cookie_name: self.cookie}))
        monkeypatch.setattr(identity, "has_sign_in", lambda: False)
        monkeypatch.setattr(person_module, "services", lambda: self.services)
        self.patch = monkeypatch

    def session(self, **state: str) -> dict[str, str]:
        """A new tab with what its fields send."""
        self.patch.setattr(identity.st, "session_state", state)
        return state


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Browser:
    return Browser(monkeypatch)


def test_another_tab_begins_with_the_name_given_in_this_browser(browser: Browser) -> None:
    browser.services.door.remember(browser.cookie, "Ada")
    tab = browser.session()
    identity.settle_name(browser.services)
    assert (tab["person"], person()) == ("Ada", "Ada")


@pytest.mark.parametrize("field", ["person", "person-here"])
def test_a_field_no_longer_shown_that_sends_nothing_takes_no_name_away(browser: Browser, field: str) -> None:
    tab = browser.session(person="Ada")
    identity.settle_name(browser.services)
    for gone in ("person", "person-here"):
        tab.pop(gone, None)
    tab[field] = " "
    person_module._take(field)
    identity.settle_name(browser.services)
    assert person() == "Ada" and "" not in browser.services.door._names.values()


def test_a_name_outlives_a_run_that_does_not_draw_its_field(browser: Browser) -> None:
    tab = browser.session(person="Ada")
    identity.settle_name(browser.services)
    del tab["person"]  # what Streamlit does to a field that a run did not draw
    assert person() == "Ada"
    identity.settle_name(browser.services)
    assert tab["person"] == "Ada", "and the field shows it again"
