"""The entry: `streamlit run app.py`. Pages, `/healthz` and `/api/v1` in one process."""

from __future__ import annotations

import importlib.util
import os
import resource
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NoReturn

import anyio
import streamlit as st
from pydantic import ValidationError
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware

from core.api.enter import enter_route
from core.api.gate import Gate
from core.api.routes import routes
from core.config import Settings
from core.domain.forms import problems_in
from core.domain.start import StartFacts, start_problems
from core.errors import BenchError
from core.ui.identity import has_sign_in
from core.ui.menu import ENTRIES

PAGES = tuple(entry.name for entry in ENTRIES)


def _services():  # noqa: ANN202 - imported late: the cache runtime exists only once the server is up
    from core.ui.context import services

    return services()


def _refuse(sentence: str) -> NoReturn:
    """Ends the start with one sentence. Raised instead, the server would print it under forty lines of its own frames."""
    print(f"\nDraftledger does not start. {sentence}", file=sys.stderr, flush=True)
    os._exit(3)


def _settings() -> Settings:
    try:
        return Settings()
    except ValidationError as error:
        _refuse(" ".join(f"DRAFTLEDGER_{name.upper()}: {sentence}" for name, sentence in problems_in(error).items()))


def _facts(settings: Settings) -> StartFacts:
    auth = dict(st.secrets["auth"]) if has_sign_in() else {}
    return StartFacts(
        address=st.get_option("server.address") or "",
        has_sign_in=bool(auth),
        cookie_secret=str(auth.get("cookie_secret", "")),
        redirect_uri=str(auth.get("redirect_uri", "")),
        has_sign_in_library=importlib.util.find_spec("authlib") is not None,
        host_names=settings.host_names,
        has_xsrf=bool(st.get_option("server.enableXsrfProtection")),
        has_cors=bool(st.get_option("server.enableCORS")),
        trusts_headers=bool(st.get_option("server.trustedUserHeaders")),
        has_agent_api=bool(st.get_option("server.enableAgentApi")),
    )


def _tell(token: str) -> None:
    """Prints the link that opens the next browser."""
    print(f"\n  Open  http://127.0.0.1:{st.get_option('server.port')}/enter?token={token}", flush=True)
    print("  It opens one browser, for twelve hours. Used up? The next one is printed here.\n", flush=True)


def _make_room() -> None:
    """As many descriptors as this process may have: an open tab holds four, and the usual 1024 would end at some 250 tabs."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@asynccontextmanager
async def lifespan(app: st.App) -> AsyncIterator[dict[str, bool]]:
    """Refuses unsafe combinations of settings, opens the services before the first visitor, closes them at the end."""
    problems = start_problems(_facts(_settings()))
    if problems:
        _refuse("\n".join(problems))
    _make_room()
    try:
        opened = await anyio.to_thread.run_sync(_services)
    except BenchError as error:
        _refuse(f"{error.title}. {error.message} {error.hint}")
    for problem in opened.house.unsaved.values():
        print(f"\n  {problem.title}. {problem.message} {problem.hint}", file=sys.stderr, flush=True)
    if not has_sign_in() and opened.door.is_open:
        print("\n  DRAFTLEDGER_LOCAL_TOKEN=off: every user of this computer may open this app and is admin in it.", flush=True)
        print(f"  Open  http://127.0.0.1:{st.get_option('server.port')}\n", flush=True)
    elif not has_sign_in():
        _tell(opened.door.token)
    yield {"ready": True}
    await anyio.to_thread.run_sync(opened.close)


app = st.App(
    Path(__file__).parent / "core" / "ui" / "shell.py",
    lifespan=lifespan,
    routes=[enter_route(lambda: _services().door, pages=PAGES, told=_tell), *routes(_services, has_sign_in=has_sign_in())],
    middleware=[
        Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost", "[::1]", *_settings().host_names]),
        Middleware(Gate, pages=PAGES, only_here=not has_sign_in()),
    ],
)
