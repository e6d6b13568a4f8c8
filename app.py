"""The entry: `streamlit run app.py`. Pages, `/healthz` and `/api/v1` in one process."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NoReturn

import anyio
import streamlit as st
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware

from core.api.routes import routes
from core.errors import BenchError

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def _services():  # noqa: ANN202 - imported late: the cache runtime exists only once the server is up
    from core.ui.context import services

    return services()


def _refuse(sentence: str) -> NoReturn:
    """Ends the start with one sentence. Raised instead, the server would print it under forty lines of its own frames."""
    print(f"\nDraftledger does not start. {sentence}", file=sys.stderr, flush=True)
    os._exit(3)


@asynccontextmanager
async def lifespan(app: st.App) -> AsyncIterator[dict[str, bool]]:
    """Refuses any address but loopback, opens the services before the first visitor, closes them at the end."""
    if st.get_option("server.address") not in LOOPBACK:
        _refuse("Draftledger has no sign-in yet and serves this machine only: start it with --server.address 127.0.0.1")
    try:
        opened = await anyio.to_thread.run_sync(_services)
    except BenchError as error:
        _refuse(f"{error.title}. {error.message} {error.hint}")
    yield {"ready": True}
    await anyio.to_thread.run_sync(opened.close)


app = st.App(
    Path(__file__).parent / "core" / "ui" / "shell.py",
    lifespan=lifespan,
    routes=routes(_services),
    middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost", "[::1]"])],
)
