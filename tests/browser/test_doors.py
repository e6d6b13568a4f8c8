"""The doors of the running app: the one-time link, the socket without a browser, and that nothing leaves this host."""

from __future__ import annotations

import http.client
import re
import secrets
import time
from contextlib import closing

import pytest

from core.bootstrap import build
from core.config import Settings
from core.services.local_door import LocalDoor
from core.services.worksheets import propose
from core.ui.menu import ENTRIES
from tests.browser.app_process import App
from tests.browser.raw_socket import answers
from tests.browser.steps import go, main_text, sees, settled

CANARY = f"canary{secrets.token_hex(6)}"


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    """An app behind its one-time link, with one worksheet whose title nobody outside may read."""
    running = App(tmp_path_factory.mktemp("locked"), local_token="")
    services = build(Settings(db=running.database, local_dir=running.folder / "local"))
    values = {
        "title": CANARY,
        "box_id": "this-machine",
        "engine_id": "embedded",
        "model": "made-dense",
        "workload_id": "chat-short",
        "n_max": 2,
    }
    propose(services.house, values, who=CANARY, worksheet_id="w-0badcafe")
    services.database.close()
    services.jobs.close()
    running.start()
    yield running
    running.stop()


def link(app):
    """The newest link that was printed."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        found = re.findall(r"Open  (http\S+token=\S+)", (app.folder / "app.log").read_text())
        if found:
            return found[-1]
        time.sleep(0.1)
    raise AssertionError("no link was printed")


def get(app, path, method="GET", **headers):
    with closing(http.client.HTTPConnection("127.0.0.1", app.port, timeout=20)) as connection:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()


def cookie_of(app):
    """A valid cookie, made with the house's own key."""
    door = LocalDoor((app.folder / "walk.duckdb.d" / "door.key").read_bytes())
    return f"{door.cookie_name}={door.enter(door.token)}"


def test_the_key_of_the_door_is_for_its_owner_alone(locked):
    assert (locked.folder / "walk.duckdb.d" / "door.key").stat().st_mode & 0o777 == 0o600


def test_a_person_opens_the_link_once_and_lands_where_they_wanted(locked, page, browser):
    go(page, f"{locked.url}/worksheet?worksheet=w-0badcafe")
    sees(page, "closed until its link is opened")
    assert CANARY not in page.content()
    used = link(locked)
    page.goto(used)
    page.wait_for_url("**/worksheet?worksheet=w-0badcafe")
    settled(page)
    sees(page, CANARY)
    page.reload()  # the cookie keeps the browser in
    sees(page, CANARY)
    other = browser.new_context().new_page()
    other.goto(used)
    assert "used up" in other.content()
    go(other, f"{locked.url}/worksheets")
    sees(other, "closed until its link is opened")
    other.goto(link(locked))  # the next one opens the next browser
    settled(other)
    go(other, f"{locked.url}/worksheets")
    sees(other, CANARY)
    other.context.close()


def test_a_socket_without_proof_gets_no_data_from_any_page(locked):
    query = "worksheet=w-0badcafe"
    here = f"http://127.0.0.1:{locked.port}"
    for entry in ENTRIES:
        came = answers(locked.port, page=entry.name, query=query)
        assert came is not None and CANARY.encode() not in came and b"made-dense" not in came, entry.name
        assert b"closed until" in came
    proofs = {
        "no origin": {},
        "own origin, no cookie": {"Origin": here},
        "forged": {"Origin": here, "Cookie": cookie_of(locked)[:-3] + "AAA"},
        "another house": {
            "Origin": here,
            "Cookie": cookie_of(locked).split("=")[0] + "=" + (other := LocalDoor(b"o" * 32)).enter(other.token),
        },
        "identity headers": {"Origin": here, "X-Forwarded-User": "root", "Remote-User": "root", "X-Forwarded-Email": "root@example.org"},
        "another name": {"Origin": here, "Cookie": "draftledger=" + cookie_of(locked).split("=", 1)[1]},
    }
    for name, headers in proofs.items():
        came = answers(locked.port, page="worksheet", query=query, headers=headers)
        assert came is not None and CANARY.encode() not in came, name
    came = answers(locked.port, page="worksheet", query=query, headers={"Origin": here, "Cookie": cookie_of(locked)})
    assert came is not None and CANARY.encode() in came  # the very same request with proof


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:9999"},
        {"Origin": "null"},
        {"Host": "evil.example", "Origin": "http://evil.example"},
        {"Host": "evil.example"},
    ],
)
def test_other_sites_and_other_names_are_refused_even_with_a_cookie(locked, headers):
    assert answers(locked.port, page="worksheets", headers={**headers, "Cookie": cookie_of(locked)}) is None
    assert get(locked, "/", **headers)[0] in (400, 403)
    assert get(locked, "/api/v1/matrix", **headers)[0] in (400, 403)


def test_forged_widgets_write_only_with_proof(locked):
    """The very messages that make a token, sent first without and then with a cookie."""
    proof = {"Origin": f"http://127.0.0.1:{locked.port}", "Cookie": cookie_of(locked)}
    drawn = answers(locked.port, page="tokens", headers=proof)
    field = re.search(rb"\$\$ID-[0-9a-f]{32}-token-name", drawn).group().decode()
    button = re.search(rb"\$\$ID-[0-9a-f]{32}-make-token", drawn).group().decode()
    mark = f"forged{secrets.token_hex(4)}"
    for headers in ({}, {"Origin": proof["Origin"]}, {**proof, "Cookie": proof["Cookie"][:-3] + "AAA"}):
        assert mark.encode() not in answers(locked.port, page="tokens", headers=headers, widgets={field: mark, button: True})
    assert mark.encode() not in answers(locked.port, page="tokens", headers=proof)
    assert mark.encode() in answers(locked.port, page="tokens", headers=proof, widgets={field: mark, button: True})


def test_headers_limits_and_wrong_links(locked):
    status, headers, _ = get(locked, "/")
    assert status == 200 and headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert get(locked, "/enter?token=wrong")[0] == 403 and get(locked, "/enter")[0] == 403
    assert get(locked, link(locked).removeprefix(locked.url), method="HEAD")[0] == 200  # a look ahead does not use it up
    assert get(locked, "/api/v1/matrix", Content_Length="99999999")[0] == 413
    cookie = get(locked, "/worksheet?worksheet=w-1", Accept="text/html")[1]["set-cookie"]
    assert cookie.startswith("draftledger_next=%2Fworksheet%3Fworksheet%3Dw-1;") and "HttpOnly" in cookie
    for nowhere in ("//evil.example", "/enter", "/oauth2callback", "/worksheetx"):
        assert (
            get(locked, nowhere, Accept="text/html")[1]["set-cookie"] is None
            or "next=%2F%2Fevil" not in get(locked, nowhere)[1]["set-cookie"]
        )


def test_no_request_leaves_this_host_and_the_policy_stops_nothing_of_ours(locked, page):
    asked, said = set(), []
    page.on("request", lambda request: asked.add(request.url))
    page.on("console", lambda message: said.append(message.text) if "Content Security Policy" in message.text else None)
    page.goto(link(locked))
    for name in ("home", "matrix", "price", "worksheet", "boxes", "audit"):  # charts, tables, forms, code
        go(page, f"{locked.url}/{name}?worksheet=w-0badcafe")
        assert "closed until" not in main_text(page)
    assert len(asked) > 20
    foreign = {url for url in asked if not url.startswith((locked.url, f"ws://127.0.0.1:{locked.port}", "data:", "blob:"))}
    assert foreign == set() and said == []
