"""The frame: menu, name, restart notice."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from core.bootstrap import Services
from core.config import ROOT
from core.services.local_door import LocalDoor
from core.ui import identity
from core.ui.components.person import person
from core.ui.menu import entry
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


def test_a_name_is_recalled_once_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    door = LocalDoor(b"k" * 32)
    cookie = str(door.enter(door.token))
    door.remember(cookie, "Ada")
    state: dict[str, object] = {}
    monkeypatch.setattr(identity.st, "session_state", state)
    monkeypatch.setattr(identity.st, "context", SimpleNamespace(cookies={door.cookie_name: cookie}))
    monkeypatch.setattr(identity, "has_sign_in", lambda: False)
    identity.recall_name(SimpleNamespace(door=door))
    assert state.pop("person") == "Ada"
    identity.recall_name(SimpleNamespace(door=door))
    assert "person" not in state, "while a page changes the field is away for a moment; what is set then would replace its value"
