"""People, tokens and the audit log: empty, filled, and for somebody who may not."""

from __future__ import annotations

import pytest

from core.bootstrap import Services
from core.domain.handles import ERASED
from core.domain.roles import NOBODY, Actor
from core.services.people import set_person
from core.services.tokens import list_tokens, make_token
from core.ui import context
from tests.pages.conftest import OpenPage, words

KEY = "https://id.example 42"
HTML = "<b>x</b>"


def as_(monkeypatch: pytest.MonkeyPatch, role: str, name: str = "Vi") -> None:
    """Whoever sits at the tab is a signed-in person of that role."""
    actor = Actor("https://id.example v", name, role, "page", is_named=True) if role else NOBODY
    monkeypatch.setattr(context, "actor_at_this_tab", lambda services: actor)


def test_people_are_listed_and_given_roles(services: Services, open_page: OpenPage) -> None:
    assert "Nobody has signed in yet" in words(open_page("people"))
    set_person(services.house, {"key": KEY, "name": HTML, "role": "none"})
    at = open_page("people")
    assert HTML in words(at) and KEY in words(at)
    role = next(box for box in at.selectbox if box.key.startswith("role-"))
    mark = role.key.removeprefix("role-")
    role.set_value("decider")
    at.button(key=f"save-{mark}").click().run()
    person = services.house.store.people.get(KEY)
    assert person is not None and person["role"] == "decider" and not at.exception


def test_a_person_is_added_by_issuer_and_subject_and_problems_come_with_the_form_kept(services: Services, open_page: OpenPage) -> None:
    at = open_page("people")
    at.text_input(key="person-issuer").set_value("https://id.example")
    at.text_input(key="person-name").set_value("Ada")
    at.button(key="give-role").click().run()
    assert services.house.store.people.all() == [] and at.text_input(key="person-name").value == "Ada"
    at.text_input(key="person-subject").set_value("42")
    at.button(key="give-role").click().run()
    assert [(row["key"], row["role"]) for row in services.house.store.people.all()] == [(KEY, "viewer")]


def test_a_name_is_erased_after_a_second_thought_and_the_person_stays(services: Services, open_page: OpenPage) -> None:
    assert "No name is kept yet" in words(open_page("people"))
    set_person(services.house, {"key": KEY, "name": HTML, "role": "runner"})
    at = open_page("people")
    at.button(key="erase-name-button").click().run()
    assert "Nothing was erased" in words(at) and services.house.store.names.all() != []
    at.selectbox(key="erase-which").set_value(HTML)
    at.checkbox(key="erase-sure").check()
    at.button(key="erase-name-button").click().run()
    assert not at.exception and [one.label for one in services.house.store.names.all() if HTML in one.name] == []
    assert HTML not in words(at) and f"{ERASED}\n{KEY}" in words(at)
    person = services.house.store.people.get(KEY)
    assert person is not None and person["role"] == "runner", "who may do what is another matter than what somebody is called"


def test_a_token_is_shown_once_and_revoked(services: Services, open_page: OpenPage) -> None:
    at = open_page("tokens", person="Ada")
    assert "No token was made yet" in words(at)
    at.text_input(key="token-name").set_value("nightly")
    at.button(key="make-token").click().run()
    token = next(element.value for element in at.code)
    assert token.startswith("dl_") and "nightly" in words(at)
    at.run()
    assert token not in words(at) and "valid" in words(at)
    at.button(key=f"revoke-{token.split('_')[1]}").click().run()
    assert list_tokens(services.house)[0]["state"] == "revoked"
    assert "revoked" in words(at) and not at.exception


def test_the_audit_log_shows_what_was_done_and_a_broken_chain(services: Services, open_page: OpenPage) -> None:
    assert "Nothing was written down yet" in words(open_page("audit"))
    make_token(services.house, {"name": "a", "role": "viewer"})
    at = open_page("audit")
    assert "The chain holds" in words(at) and at.dataframe[0].value["act"].tolist() == ["token.make"]
    with services.database.tx() as cursor:
        cursor.execute("UPDATE audit SET object = 'x'")
    assert "broken at line 1" in words(open_page("audit"))


@pytest.mark.parametrize(
    ("role", "page", "says"),
    [("", "boxes", "closed until"), ("none", "boxes", "nobody has given you a role"), ("decider", "people", "needs the role admin")],
)
def test_a_closed_door_reads_nothing(
    services: Services, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch, role: str, page: str, says: str
) -> None:
    """Through the app's own frame; every page's guard is tried for every role in test_roles.py."""
    set_person(services.house, {"key": KEY, "name": "canary", "role": "none"})
    as_(monkeypatch, role)
    at = open_page(page)
    assert says in words(at) and "this machine" not in words(at).lower().replace("this machine only", "")
    assert "canary" not in words(at) and not at.dataframe


def test_a_signed_in_person_is_named_in_the_menu_and_has_no_name_field(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    as_(monkeypatch, "runner", name="Ada Example")
    at = open_page("home")
    assert [one for one in at.text_input if one.label == "Your name"] == []
    assert "Ada Example" in [element.value for element in at.sidebar.text] and "role: runner" in words(at)
