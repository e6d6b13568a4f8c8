"""The JSON door beside the pages: `/healthz` for anyone, `/api/v1/…` for callers with a token.

Where there is no sign-in, a program on this computer may look at the matrix without one.
"""

from __future__ import annotations

import ipaddress
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route, Router
from starlette.types import Receive, Scope, Send

from core.api.door import ApiDoor, Call, Download
from core.api.doors import DOORS
from core.api.limits import HEAVY_PER_MINUTE, PER_MINUTE, WRONG_PER_MINUTE, Limiter
from core.api.openapi import description
from core.api.problems import answer, problem
from core.bootstrap import Services
from core.domain.roles import NOBODY, Actor
from core.errors import BenchError, InvalidInput
from core.services.access import authorize
from core.services.house import House
from core.services.identity import loopback_actor, token_actor

_WITHOUT_TOKEN = ("/matrix",)
_NO_TOKEN = BenchError(
    "This door opens with a token. Nothing was done.",
    title="No valid token",
    hint="An admin makes one in the menu under Tokens. Send it as: Authorization: Bearer …",
)
_PIECE = 1 << 18
_HEAVY = threading.Lock()  # exports, backups and the like: one at a time in this process


def routes(get_services: Callable[[], Services], *, has_sign_in: bool = False) -> list[Route | Mount]:
    """Routes over the services; `get_services` answers with the one instance of this process."""
    limiter = Limiter()

    def healthz(request: Request) -> JSONResponse:
        services = get_services()
        return JSONResponse({"ok": True, "version": services.house.version, "store": _store_state(services)})

    def openapi(request: Request) -> Response:
        return answer(description(get_services().house.version))

    async def nowhere(scope: Scope, receive: Receive, send: Send) -> None:
        """Also for addresses that no pattern fits, such as one with a line break in it."""
        answered = problem(BenchError("There is no such door.", title="Not found", hint="See /api/v1/openapi.json."), 404)
        await answered(scope, receive, send)

    by_path: dict[str, list[ApiDoor]] = {}
    for door in DOORS:
        by_path.setdefault(door.path, []).append(door)
    opened = [Route(path, _endpoint(doors, get_services, limiter, has_sign_in), methods=_METHODS) for path, doors in by_path.items()]
    return [
        Route("/healthz", healthz),
        Mount("/api/v1", app=Router([Route("/openapi.json", openapi), *opened], default=nowhere, redirect_slashes=False)),
    ]


_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def _store_state(services: Services) -> str:
    """ok when the database answers, else unavailable; no other detail, since anyone may ask."""
    try:
        services.database.rows("SELECT 1")
    except BenchError:
        return "unavailable"
    return "ok"


def _endpoint(doors: list[ApiDoor], get_services: Callable[[], Services], limiter: Limiter, has_sign_in: bool) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        door = next((one for one in doors if one.method == method), None)
        if door is None:
            there = ", ".join(one.method for one in doors)
            return problem(BenchError(f"Here is only: {there}.", title="No such method"), 405, {"allow": there})
        caller = request.client.host if request.client else "?"
        if limiter.is_spent(f"wrong {caller}", WRONG_PER_MINUTE):
            return _too_many(limiter)
        house = get_services().house
        actor = await run_in_threadpool(_actor_of, request, door, house, has_sign_in)
        if actor == NOBODY:
            limiter.allows(f"wrong {caller}", WRONG_PER_MINUTE)
            return problem(_NO_TOKEN, 401, {"www-authenticate": "Bearer"})
        if not limiter.allows(actor.key, PER_MINUTE) or (door.is_heavy and not limiter.allows(f"heavy {actor.key}", HEAVY_PER_MINUTE)):
            return _too_many(limiter)
        try:
            body = await _body(request) if door.body else {}
            call = Call(dict(request.path_params), _query(door, request.query_params.multi_items()), body)
            return await run_in_threadpool(_work, door, house.acting(actor), call)
        except ClientDisconnect:
            return problem(BenchError("The body is too large. Nothing was done.", title="Too large"), 413)
        except _NotJson as error:
            return problem(error, 415)
        except BenchError as error:
            return problem(error)

    return endpoint


def _work(door: ApiDoor, house: House, call: Call) -> Response:
    authorize(house, door.action, door.path)
    if not door.is_heavy:
        return _sent(door.work(house, call))
    if not _HEAVY.acquire(blocking=False):
        busy = BenchError(
            "An export, a backup or a check of the house is under way. Nothing was done.", title="Busy", hint="Ask again then."
        )
        return problem(busy, 409)
    try:
        return _sent(door.work(house, call))
    finally:
        _HEAVY.release()


def _sent(found: dict[str, Any] | Download) -> Response:
    if not isinstance(found, Download):
        return answer(found)
    size = found.made.seek(0, 2)
    found.made.seek(0)
    headers = {"content-length": str(size), "content-disposition": f'attachment; filename="{found.name}"', "cache-control": "no-store"}
    return StreamingResponse(_pieces(found.made), media_type=found.media_type, headers=headers)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    """The file's bytes; it is closed, and with that gone, also when the caller hangs up."""
    with file:
        while piece := file.read(_PIECE):
            yield piece


def _too_many(limiter: Limiter) -> Response:
    error = BenchError("Too many requests in this minute. Nothing was done.", title="Too many requests", hint="Wait, then ask again.")
    return problem(error, 429, {"retry-after": str(limiter.wait_s())})


def _actor_of(request: Request, door: ApiDoor, house: House, has_sign_in: bool) -> Actor:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme:
        return token_actor(house, token.strip()) if scheme.lower() == "bearer" else NOBODY
    is_open = not has_sign_in and door.method == "GET" and door.path in _WITHOUT_TOKEN and _is_loopback(request)
    return loopback_actor() if is_open else NOBODY


class _NotJson(BenchError):
    default_title = "Not JSON"


async def _body(request: Request) -> dict[str, Any]:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise _NotJson("The body has to be sent as application/json.")
    try:
        found = json.loads(await request.body(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidInput({"body": "is not JSON (UTF-8, no NaN)."}) from error
    if not isinstance(found, dict):
        raise InvalidInput({"body": "has to be a JSON object."})
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _query(door: ApiDoor, given: Iterable[tuple[str, str]]) -> dict[str, str]:
    found = dict(given)
    unknown = sorted(set(found) - set(door.query))
    if unknown:
        known = ", ".join(door.query) or "nothing"
        raise InvalidInput({"query": f"may name {known}; found {', '.join(unknown)[:200]}."})
    return found


def _is_loopback(request: Request) -> bool:
    try:
        return request.client is not None and ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False
