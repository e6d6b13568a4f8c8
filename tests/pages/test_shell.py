"""The frame: menu, name, restart notice."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from core.bootstrap import Services
from core.config import ROOT
from core.ui.components.person import person
from core.ui.menu import entry
from tests.pages.conftest import words

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
