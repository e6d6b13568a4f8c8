"""The real sign-in in a real browser, against a provider on this machine: roles, the way back, twelve hours, and who is disabled."""

from __future__ import annotations

import json
import secrets
import time

import pytest
from itsdangerous import URLSafeTimedSerializer

from core.services.people import set_person
from core.ui.menu import ENTRIES
from tests.browser.app_process import App
from tests.browser.canary import CANARY, SHEET, prepared, seen_by, shows, widget
from tests.browser.identity_provider import CLIENT, Provider
from tests.browser.steps import go, sees, settled

SECRET = secrets.token_urlsafe(48)


@pytest.fixture(scope="module")
def provider():
    running = Provider()
    yield running
    running.close()


def known(provider):
    """People with a role of their own; everybody else has what the claim grants."""
    roles = {"root": "admin", "watcher": "viewer"}
    return [{"key": f"{provider.issuer} {sub}", "name": sub.title(), "role": role} for sub, role in roles.items()]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory, provider):
    """An app with sign-in, one worksheet, one admin known by issuer and subject, and a claim that makes runners."""
    folder = tmp_path_factory.mktemp("guarded")
    secrets_file = folder / "secrets.toml"
    running = App(folder, local_token="", options=("--secrets.files", str(secrets_file)))
    secrets_file.write_text(
        f'[auth]\nredirect_uri = "{running.url}/oauth2callback"\ncookie_secret = "{SECRET}"\nclient_id = "{CLIENT}"\nclient_secret = "x"\n'
        f'server_metadata_url = "{provider.issuer}/.well-known/openid-configuration"\n'
    )
    prepared(running, lambda services: [set_person(services.house, person) for person in known(provider)])
    running.settings = {"DRAFTLEDGER_ROLE_CLAIM": "groups", "DRAFTLEDGER_ROLE_MAP": json.dumps({"bench": "runner"})}
    running.start()
    yield running
    running.stop()


def sign_in(page, app, address=""):
    go(page, f"{app.url}/{address}")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{app.url}/{address}")
    settled(page)


def test_nothing_is_printed_and_nothing_shown_before_signing_in(guarded, page):
    assert "enter?token=" not in (guarded.folder / "app.log").read_text()
    go(page, f"{guarded.url}/{SHEET}")
    sees(page, "Sign in to see this page")
    assert CANARY not in page.content()
    page.goto(f"{guarded.url}/enter?token=anything")
    assert CANARY not in page.content()


def test_a_person_signs_in_lands_where_they_wanted_and_has_the_role_of_the_claim(guarded, provider, page):
    provider.person = {"sub": "1", "name": "Grace Example", "groups": ["bench", "else"]}
    sign_in(page, guarded, SHEET)
    sees(page, CANARY)
    menu = page.get_by_test_id("stSidebar").inner_text()
    assert "Grace Example" in menu and "role: runner" in menu and "Your name" not in menu and "Tokens" not in menu
    go(page, f"{guarded.url}/tokens")
    sees(page, "This page needs the role admin")


def test_an_unknown_person_gets_nothing_until_an_admin_says_so_and_is_out_when_disabled(guarded, provider, browser):
    other, admin = (browser.new_context().new_page() for _ in range(2))
    provider.person = {"sub": "2", "name": "Nora Unknown", "groups": ["elsewhere"]}
    sign_in(other, guarded, SHEET)
    sees(other, "nobody has given you a role")
    assert CANARY not in other.content()
    provider.person = {"sub": "root", "name": "Root"}
    sign_in(admin, guarded, "people")
    sees(admin, "Nora Unknown")
    card = admin.locator("[class*='st-key-person-']").filter(has_text="Nora Unknown")
    for choice, then in (("viewer", CANARY), ("disabled", "nobody has given you a role")):
        if choice == "disabled":
            card.get_by_text("Disabled", exact=True).click()
        else:
            card.locator("input").first.click()
            admin.get_by_role("option", name=choice, exact=True).click()
        settled(admin)
        card.get_by_role("button", name="Save").click()
        settled(admin)
        go(other, f"{guarded.url}/{SHEET}")
        sees(other, then)
    go(admin, f"{guarded.url}/audit")
    sees(admin, "The chain holds")
    admin.context.close()
    other.context.close()


def test_a_refused_sign_in_opens_nothing(guarded, provider, page):
    provider.refusal = "access_denied"
    try:
        go(page, f"{guarded.url}/worksheets")
        page.get_by_role("button", name="Sign in").click()
        sees(page, "Sign in to see this page")
        assert CANARY not in page.content()
    finally:
        provider.refusal = ""


def cookie(app, provider, secret=SECRET, **changes):
    """The cookie as the server signs it, with claims of our choice."""
    claims = {
        "origin": app.url,
        "is_logged_in": True,
        "iss": provider.issuer,
        "sub": "root",
        "name": "Root",
        "iat": int(time.time()),
        **changes,
    }
    return f"_streamlit_user={URLSafeTimedSerializer(secret, salt='_streamlit_user').dumps(json.dumps(claims))}"


def test_forged_stale_and_foreign_cookies_get_no_data(guarded, provider):
    here = {"Origin": guarded.url, "Xsrf": True}
    assert shows(seen_by(guarded, {**here, "Cookie": cookie(guarded, provider)})), "the form of the cookie is right"
    for name, bad in {
        "another secret": cookie(guarded, provider, secret="s" * 48),
        "another issuer": cookie(guarded, provider, iss="https://evil.example"),
        "older than twelve hours": cookie(guarded, provider, iat=int(time.time()) - 12 * 3600 - 5),
        "no age": cookie(guarded, provider, iat=None),
        "no subject": cookie(guarded, provider, sub=""),
        "another origin": cookie(guarded, provider, origin="http://127.0.0.1:1"),
        "not signed in": cookie(guarded, provider, is_logged_in=False),
    }.items():
        came = seen_by(guarded, {**here, "Cookie": bad})
        assert came is not None and not shows(came), name
    assert not shows(seen_by(guarded, {"Cookie": cookie(guarded, provider)})), "a cookie without the page's own token"


def test_no_page_says_anything_to_a_client_without_a_cookie_or_without_a_role(guarded, provider):
    for entry in ENTRIES:
        came = seen_by(guarded, {}, page=entry.name)
        assert not shows(came) and b"Sign in to see this page" in came, entry.name
    nobody = {"Origin": guarded.url, "Xsrf": True, "Cookie": cookie(guarded, provider, sub="stranger", name="Stranger")}
    for name in ("worksheet", "matrix", "people"):  # every page's own guard: tests/pages/test_roles.py
        came = seen_by(guarded, nobody, page=name)
        assert not shows(came) and b"nobody has given you a role" in came, name


def test_a_viewer_who_forges_a_click_writes_nothing(guarded, provider):
    """The very message that opens a worksheet, sent by a viewer and by a runner: the page draws the same button for both."""
    root = {"Origin": guarded.url, "Xsrf": True, "Cookie": cookie(guarded, provider)}
    for sub, claims, may in (("watcher", {}, False), ("3", {"groups": ["bench"]}, True)):
        name = f"forger{secrets.token_hex(4)}"
        proof = {"Origin": guarded.url, "Xsrf": True, "Cookie": cookie(guarded, provider, sub=sub, name=name, **claims)}
        button = widget(seen_by(guarded, proof, page="propose"), "open-worksheet")
        came = seen_by(guarded, proof, page="propose", widgets={button: True})
        assert (b"Not allowed" in came) is not may
        assert (name.encode() in seen_by(guarded, root, page="worksheets")) is may
    assert b"work.propose" in seen_by(guarded, root, page="audit"), "the refused act is written down"
