"""Every role at every page, by doing it: the page's own guard lets it in or shuts it out before anything is read."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NoReturn

import pytest
from streamlit.testing.v1 import AppTest

from core.bootstrap import Services
from core.domain.roles import Actor
from core.services.people import set_person
from core.services.tokens import make_token
from core.services.worksheets import propose
from core.ui import guard
from core.ui.menu import ENTRIES, Entry
from tests.door_table import LEAST, PAGES, ROLES, may
from tests.pages.conftest import OpenPage, words
from tests.pages.test_admin import KEY, as_
from tests.services.conftest import REQUEST

ACTION = {name: action for action, names in PAGES.items() for name in names}
CANARY = "canary5d1f"


@pytest.fixture
def canary(services: Services) -> str:
    """Something on the pages of work and of administration that nobody outside may read."""
    propose(services.house, {**REQUEST, "title": CANARY}, who=CANARY, worksheet_id="w-canary")
    make_token(services.house, {"name": CANARY, "role": "viewer"})
    set_person(services.house, {"key": KEY, "name": CANARY, "role": "none"})
    return CANARY


def guard_of(entry: Entry) -> str:
    """The page's script down to its guard, which is its first call."""
    body = ast.parse(Path(entry.path).read_text("utf-8")).body
    guard = next(place for place, node in enumerate(body) if "enter(" in ast.unparse(node) and not isinstance(node, ast.ImportFrom))
    return ast.unparse(ast.Module(body[: guard + 1], type_ignores=[]))


def try_each(scripts: dict[str, str]) -> None:
    """Runs in the app."""
    import streamlit as st

    for name, script in scripts.items():
        try:
            exec(compile(script, name, "exec"), {})
            st.session_state[f"door-{name}"] = "open"
        except PermissionError as shut:
            st.session_state[f"door-{name}"] = f"shut for {shut}"


def shut(actor: Actor, action: str, *, is_old: bool) -> NoReturn:
    """In the closed door's place, which ends the script: then the next guard could not be tried."""
    raise PermissionError(action)


@pytest.mark.parametrize("role", ["", *ROLES])
def test_a_page_lets_in_whom_the_table_lets_in(services: Services, monkeypatch: pytest.MonkeyPatch, canary: str, role: str) -> None:
    as_(monkeypatch, role)
    monkeypatch.setattr(guard, "closed_door", shut)
    at = AppTest.from_function(try_each, kwargs={"scripts": {one.name: guard_of(one) for one in ENTRIES}}, default_timeout=30).run()
    assert not at.exception and canary not in words(at)
    found = {one.name: at.session_state[f"door-{one.name}"] for one in ENTRIES}
    assert found == {name: "open" if role and may(role, action) else f"shut for {action}" for name, action in ACTION.items()}


def test_every_page_opens_for_the_least_role_that_may_see_it_and_shows_what_is_there(
    services: Services, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch, canary: str
) -> None:
    shown = set()
    for one in ENTRIES:
        as_(monkeypatch, LEAST[ACTION[one.name]])
        at = open_page(one.name, worksheet="w-canary")
        assert not at.exception, one.name
        said = words(at)
        assert "Not allowed" not in said, one.name
        shown |= {one.name} if canary in said else set()
    assert shown >= {"worksheet", "worksheets", "people", "tokens"}
