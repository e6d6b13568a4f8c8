"""`/enter?token=…`: the link printed at start. It sets the cookie that keeps this browser signed in and leads on to the pages."""

from __future__ import annotations

from collections.abc import Callable

import anyio
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from core.api.gate import way_back
from core.services.local_door import OPEN_S, LocalDoor

WRONG_S = 1.0  # seconds before a wrong token is answered


def enter_route(get_door: Callable[[], LocalDoor], *, pages: tuple[str, ...], told: Callable[[str], None]) -> Route:
    """The route. `told` hears the next token once one was used up."""
    known = {f"/{name}" for name in pages}

    async def enter(request: Request) -> Response:
        if request.method != "GET":
            return PlainTextResponse("")
        door = get_door()
        token = request.query_params.get("token", "")
        cookie = door.enter(token)
        if cookie is None:
            await anyio.sleep(WRONG_S)
            return PlainTextResponse(
                "This link is used up or not complete. The one that opens next is printed where the app was started.", status_code=403
            )
        if door.token != token:
            told(door.token)
        answer = RedirectResponse(
            way_back(request.headers.get("cookie", ""), known), status_code=303, headers={"cache-control": "no-store"}
        )
        answer.set_cookie(door.cookie_name, cookie, max_age=OPEN_S, httponly=True, samesite="strict")
        return answer

    return Route("/enter", enter)
