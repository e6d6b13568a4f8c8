"""An app with one worksheet whose words nobody outside may read, and what a client of its socket gets to see of it."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from typing import Any

from core.bootstrap import Services, build
from core.config import Settings
from core.services.worksheets import propose
from tests.browser.app_process import App
from tests.browser.raw_socket import answers

CANARY = f"canary{secrets.token_hex(6)}"
QUERY = "worksheet=w-0badcafe"
SHEET = f"worksheet?{QUERY}"
_ASKED = {
    "title": CANARY,
    "box_id": "this-machine",
    "engine_id": "embedded",
    "model": "made-dense",
    "workload_id": "chat-short",
    "n_max": 2,
}


def prepared(app: App, also: Callable[[Services], object] = lambda services: None) -> App:
    """Puts the worksheet into the app's database before it starts, and whatever else a test needs there."""
    services = build(Settings(db=app.database, local_dir=app.folder / "local"))
    propose(services.house, _ASKED, who=CANARY, worksheet_id="w-0badcafe")
    also(services)
    services.database.close()
    services.jobs.close()
    return app


def seen_by(app: App, headers: dict[str, Any], *, page: str = "worksheet", **more: Any) -> bytes | None:
    """What the app's socket says to one run of a page; None where the handshake was refused."""
    return answers(app.port, page=page, query=QUERY, headers=headers, **more)


def shows(came: bytes | None) -> bool:
    """Whether the worksheet's words, or anything else of the house, are among it."""
    return came is not None and (CANARY.encode() in came or b"made-dense" in came)


def widget(drawn: bytes | None, key: str) -> str:
    """The id under which a page has drawn the widget of that key."""
    found = re.search(rb"\$\$ID-[0-9a-f]{32}-" + re.escape(key.encode()), drawn or b"")
    assert found is not None, key
    return found.group().decode()
