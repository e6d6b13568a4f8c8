"""The doors of the running app: the one-time link, the socket without a browser, and that nothing leaves this host."""

from __future__ import annotations

import hashlib
import http.client
import re
import secrets
import time
from contextlib import closing

import pytest

from core.services.local_door import OPEN_S, LocalDoor
from core.ui.menu import ENTRIES
from tests.browser.app_process import ROOT, App
from tests.browser.canary import CANARY, SHEET, prepared, seen_by, shows, widget
from tests.browser.steps import go, main_text, sees, settled


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    """An app behind its one-time link."""
    running = prepared(App(tmp_path_factory.mktemp("locked"), local_token=""))
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


def cookie_of(app, *, age_s=0):
    """A valid cookie, made with the house's own key; `age_s`: given out so long ago."""
    door = LocalDoor((app.folder / "walk.duckdb.d" / "door.key").read_bytes())
    door._signer.get_timestamp = lambda: int(time.time()) - age_s
    return f"{door.cookie_name}={door.enter(door.token)}"


def test_the_key_of_the_door_is_for_its_owner_alone(locked):
    assert (locked.folder / "walk.duckdb.d" / "door.key").stat().st_mode & 0o777 == 0o600


def test_a_person_opens_the_link_once_and_lands_where_they_wanted(locked, page, browser):
    go(page, f"{locked.url}/{SHEET}")
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
    here = f"http://127.0.0.1:{locked.port}"
    for entry in ENTRIES:
        came = seen_by(locked, {}, page=entry.name)
        assert not shows(came) and b"closed until" in came, entry.name
    script = hashlib.md5(str(ROOT / "pages" / "review" / "worksheet.py").encode(), usedforsecurity=False).hexdigest()
    for more in ({"script": script}, {"page": "worksheet", "script": script}, {"page": "../pages/review/worksheet"}, {"page": "pages"}):
        assert not shows(seen_by(locked, {"Origin": here}, **more)), more
    other = LocalDoor(b"o" * 32)
    proofs = {
        "no origin": {},
        "own origin, no cookie": {"Origin": here},
        "forged": {"Origin": here, "Cookie": cookie_of(locked)[:-3] + "AAA"},
        "stale": {"Origin": here, "Cookie": cookie_of(locked, age_s=OPEN_S + 5)},
        "another house": {"Origin": here, "Cookie": cookie_of(locked).split("=")[0] + "=" + other.enter(other.token)},
        "identity headers": {"Origin": here, "X-Forwarded-User": "root", "Remote-User": "root", "X-Forwarded-Email": "root@example.org"},
        "another name": {"Origin": here, "Cookie": "draftledger=" + cookie_of(locked).split("=", 1)[1]},
    }
    for name, headers in proofs.items():
        assert not shows(seen_by(locked, headers)), name
    for age_s in (0, OPEN_S - 60):
        assert shows(seen_by(locked, {"Origin": here, "Cookie": cookie_of(locked, age_s=age_s)})), "the very same request with proof"


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
    assert seen_by(locked, {**headers, "Cookie": cookie_of(locked)}) is None
    assert get(locked, "/", **headers)[0] in (400, 403)
    assert get(locked, "/api/v1/matrix", **headers)[0] in (400, 403)


def test_forged_widgets_write_only_with_proof(locked):
    """The very messages that make a token, sent first without and then with a cookie."""
    proof = {"Origin": f"http://127.0.0.1:{locked.port}", "Cookie": cookie_of(locked)}
    drawn = seen_by(locked, proof, page="tokens")
    mark = f"forged{secrets.token_hex(4)}"
    forged = {widget(drawn, "token-name"): mark, widget(drawn, "make-token"): True}
    for headers in ({}, {"Origin": proof["Origin"]}, {**proof, "Cookie": proof["Cookie"][:-3] + "AAA"}):
        assert mark.encode() not in seen_by(locked, headers, page="tokens", widgets=forged)
    assert mark.encode() not in seen_by(locked, proof, page="tokens")
    assert mark.encode() in seen_by(locked, proof, page="tokens", widgets=forged)


def test_every_answer_carries_the_headers_and_large_uploads_end_at_the_gate(locked):
    for path in ("/", "/worksheet", "/healthz", "/api/v1/matrix", "/api/v1/nothing", "/enter?token=wrong", "/_stcore/health", "/none.js"):
        headers = get(locked, path)[1]
        assert headers["x-content-type-options"] == "nosniff" and "frame-ancestors 'none'" in headers["content-security-policy"], path
        assert headers["referrer-policy"] == "same-origin" and headers["x-frame-options"] == "DENY", path
    assert get(locked, "/", Host="evil.example")[0] == 400
    upload = "/_stcore/upload_file/any/any"
    assert get(locked, upload, method="PUT", Content_Length=str(22 << 20))[0] == 413
    with closing(http.client.HTTPConnection("127.0.0.1", locked.port, timeout=20)) as connection:
        try:  # chunks, so that no length is told
            connection.request("PUT", upload, body=(b"x" * (1 << 20) for _ in range(23)), encode_chunked=True)
            assert connection.getresponse().status >= 400
        except (BrokenPipeError, ConnectionResetError):
            pass  # the server hung up before the end


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
