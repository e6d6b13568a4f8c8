"""What every request passes before pages, routes and the socket: origin, body size, headers, and the address to come back to."""

from __future__ import annotations

import ipaddress
from http import HTTPStatus
from urllib.parse import quote, unquote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from core.api.problems import problem
from core.errors import BenchError

NEXT_COOKIE = "draftledger_next"
NEXT_S = 600
CALLBACK = "/oauth2callback"
API_BODY = 2 << 20
UPLOAD_BODY = 21 << 20  # the page's own limit is 20 MB
_LONGEST = 1000
_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    # Streamlit's own page needs inline styles, evaluated chart code and workers; nothing may come from or go to another host.
    "content-security-policy": (
        "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' data: blob:; worker-src 'self' blob:; "
        "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
    ),
}


class Gate:
    """ASGI middleware. `pages`: addresses of pages, for the way back after signing in. `only_here`: no sign-in, so loopback only."""

    def __init__(self, app: ASGIApp, *, pages: tuple[str, ...], only_here: bool) -> None:
        self._app = app
        self._pages = {f"/{name}" for name in pages}
        self._only_here = only_here

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal:
            await _refuse(scope, receive, send, *refusal)
        elif scope["type"] == "websocket":
            await self._app(scope, receive, send)
        else:
            await self._app(scope, _limited(scope, receive), self._answering(scope, send))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        if self._only_here and not _is_loopback((scope.get("server") or ("",))[0]):
            return 403, "Without sign-in this app answers on this computer only."
        if not scope["path"].isprintable():
            return 400, "This address holds control characters."
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower():
            return 403, "This request comes from another site."
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > _limit(scope):
            return 413, "This request is too large."
        return None

    def _answering(self, scope: Scope, send: Send) -> Send:
        cookie = self._cookie_for_the_way_back(scope)

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if cookie:
                    headers.append("set-cookie", cookie)
                if scope["path"] == CALLBACK:
                    self._lead_back(scope, headers)
            await send(message)

        return answer

    def _cookie_for_the_way_back(self, scope: Scope) -> str | None:
        """Remembers a page that was opened by its address, should signing in come first."""
        if scope["method"] != "GET" or scope["path"] not in self._pages or "text/html" not in Headers(scope=scope).get("accept", ""):
            return None
        query = scope["query_string"].decode("latin-1")
        target = quote(scope["path"] + (f"?{query}" if query else ""), safe="")
        if len(target) > _LONGEST:
            return None
        return f"{NEXT_COOKIE}={target}; Path=/; Max-Age={NEXT_S}; HttpOnly; SameSite=Lax"

    def _lead_back(self, scope: Scope, headers: MutableHeaders) -> None:
        """After the identity provider's answer: to the page that was asked for, where one was and the sign-in worked."""
        if any(name == "set-cookie" and value.startswith("_streamlit_user=") and '""' not in value for name, value in headers.items()):
            target = self.way_back(Headers(scope=scope).get("cookie", ""))
            if target != "/":
                headers["location"] = target
                headers.append("set-cookie", f"{NEXT_COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax")

    def way_back(self, cookies: str) -> str:
        """The remembered address, only ever one of this app's own pages; else the start page."""
        return way_back(cookies, self._pages)


def way_back(cookies: str, pages: set[str]) -> str:
    """See Gate.way_back."""
    target = unquote(cookie_parser(cookies).get(NEXT_COOKIE, ""))
    path, _, query = target.partition("?")
    if path not in pages or not query.isascii() or not query.isprintable() or set(query) & set(" \"'<>\\"):
        return "/"
    return target


def _limit(scope: Scope) -> int:
    return API_BODY if scope["path"].startswith("/api/") else UPLOAD_BODY


def _limited(scope: Scope, receive: Receive) -> Receive:
    """Counts what arrives; past the limit the request looks cut off, whatever length it announced."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        return {"type": "http.disconnect"} if seen > _limit(scope) else message

    return counted


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, sentence: str) -> None:
    if scope["type"] == "websocket":
        await WebSocketClose(code=1008, reason=sentence)(scope, receive, send)
    elif scope["path"].startswith("/api/"):
        await problem(BenchError(f"{sentence} Nothing was done.", title=HTTPStatus(status).phrase), status, _HEADERS)(scope, receive, send)
    else:
        await PlainTextResponse(sentence, status_code=status, headers=_HEADERS)(scope, receive, send)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
