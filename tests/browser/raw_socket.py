"""A client of the pages' socket that is no browser: it sends what it likes and keeps every byte that comes back."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.web.server.starlette.starlette_app_utils import generate_xsrf_token_string
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import connect

QUIET_S = 1.5


def answers(
    port: int,
    *,
    page: str = "",
    script: str = "",
    query: str = "",
    headers: dict[str, Any] | None = None,
    widgets: dict[str, object] | None = None,
) -> bytes | None:
    """Everything the server says to one run of a page, asked for by its name or by the hash of its script; None: handshake refused.

    `headers` may replace Host and Origin; `Xsrf` True sends the pair of tokens that a browser would hold.
    `widgets`: widget id → text or True, as a browser would send them.
    """
    given = dict(headers or {})
    protocols = ["streamlit"]
    if given.pop("Xsrf", False):
        token = generate_xsrf_token_string()
        protocols.append(token)
        given["Cookie"] = "; ".join(part for part in (given.get("Cookie", ""), f"_streamlit_xsrf={token}") if part)
    host = given.pop("Host", f"127.0.0.1:{port}")
    try:
        with connect(
            f"ws://{host}/_stcore/stream",
            sock=socket.create_connection(("127.0.0.1", port), timeout=10),
            origin=given.pop("Origin", None),
            subprotocols=protocols,
            additional_headers=given,
            open_timeout=10,
            max_size=None,
        ) as stream:
            stream.send(_rerun(page, script, query, widgets or {}))
            return _until_quiet(stream)
    except (InvalidHandshake, ConnectionClosed):
        return None


@contextmanager
def tabs(port: int, count: int, *, page: str, query: str = "") -> Iterator[list[bytes]]:
    """So many tabs on one page, each drawn to its end and then left open: what each was shown."""
    with ExitStack() as opened:

        def one(_: int) -> bytes:
            sock = socket.create_connection(("127.0.0.1", port), timeout=60)
            stream = opened.enter_context(
                connect(f"ws://127.0.0.1:{port}/_stcore/stream", sock=sock, subprotocols=["streamlit"], max_size=None)
            )
            stream.send(_rerun(page, "", query, {}))
            return _until_quiet(stream, quiet_s=60.0)

        with ThreadPoolExecutor(4) as pool:
            shown = list(pool.map(one, range(count)))
        yield shown


def _rerun(page: str, script: str, query: str, widgets: dict[str, object]) -> bytes:
    message = BackMsg()
    message.rerun_script.page_name = page
    message.rerun_script.page_script_hash = script
    message.rerun_script.query_string = query
    for name, value in widgets.items():
        state = message.rerun_script.widget_states.widgets.add(id=name)
        if value is True:
            state.trigger_value = True
        else:
            state.string_value = str(value)
    return message.SerializeToString()


def _until_quiet(stream, quiet_s: float = QUIET_S) -> bytes:
    """Until the script has ended and nothing more comes."""
    came, end = b"", time.monotonic() + 30
    while time.monotonic() < end:
        try:
            part = stream.recv(timeout=quiet_s)
        except TimeoutError:
            break
        came += part
        message = ForwardMsg()
        message.ParseFromString(part)
        if message.WhichOneof("type") == "script_finished" and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
            break
    return came
