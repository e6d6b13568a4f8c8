"""Starting the app: one process per database, this machine only, and the doors beside the pages."""

from __future__ import annotations

import contextlib
import http.client
import json
import subprocess
import sys

import pytest

from tests.browser.app_process import ROOT, App


def second(app, *options):
    words = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(App(app.folder).port), *options]
    return subprocess.run(words, cwd=ROOT, env=app.environment(), capture_output=True, text=True, timeout=60, check=False)


def test_a_second_app_on_the_same_database_is_refused_with_a_sentence(app):
    done = second(app)
    words = done.stdout + done.stderr
    assert done.returncode == 3 and str(app.process.pid) in words and "held by process" in words and "Traceback" not in words


@pytest.mark.parametrize("address", ["0.0.0.0", "::"])
def test_any_address_but_loopback_is_refused(app, address):
    done = second(app, "--server.address", address)
    words = done.stdout + done.stderr
    assert done.returncode == 3 and "this machine only" in words and "Traceback" not in words


def ask(app, path, **headers):
    """(status, body as JSON or text) of a GET."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", app.port, timeout=20)) as connection:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        body = answer.read().decode()
        return answer.status, json.loads(body) if body.startswith("{") else body


def test_the_doors_beside_the_pages(app):
    status, health = ask(app, "/healthz")
    assert status == 200 and health["ok"] is True and health["version"]
    assert len(ask(app, "/api/v1/matrix")[1]["rows"]) == 4
    assert ask(app, "/api/v1/matrix?provenance=measured") == (200, {"rows": []})
    status, refused = ask(app, "/api/v1/matrix?provenance=guessed")
    assert status == 422 and "provenance" in refused["error"]["message"]
    assert ask(app, "/api/v1/matrix", Host="evil.example")[0] == 400


def test_the_app_ends_cleanly_and_lets_the_database_go(app):
    app.stop()
    app.start()
    assert ask(app, "/healthz")[1]["ok"] is True
