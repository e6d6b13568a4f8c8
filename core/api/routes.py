"""The JSON door beside the pages: `/healthz` for anyone, `/api/v1/…` for callers on this machine until sign-in exists."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from core.bootstrap import Services
from core.domain.matrix_filter import MatrixFilter
from core.errors import BenchError, InvalidInput, NotFound
from core.services.matrix import matrix_rows
from core.services.reference import published_elsewhere

_STATUS = {InvalidInput: 422, NotFound: 404}


def routes(get_services: Callable[[], Services]) -> list[Route | Mount]:
    """Routes over the services; `get_services` answers with the one instance of this process."""

    def healthz(request: Request) -> JSONResponse:
        services = get_services()
        return JSONResponse({"ok": True, "version": services.house.version, "store": _store_state(services)})

    def matrix(request: Request) -> JSONResponse:
        query = request.query_params

        def work() -> dict[str, object]:
            house, model = get_services().house, query.get("model")
            wanted: dict[str, Any] = {name: query.get(name) for name in MatrixFilter.model_fields}
            rows: dict[str, object] = {"rows": matrix_rows(house, **wanted)}
            return {**rows, "published": published_elsewhere(house, model=model)} if query.get("published") in ("1", "true") else rows

        return _answer(request, work)

    return [Route("/healthz", healthz), Mount("/api/v1", routes=[Route("/matrix", matrix)])]


def _store_state(services: Services) -> str:
    """ok when the database answers, else unavailable; no other detail, since anyone may ask."""
    try:
        services.database.rows("SELECT 1")
    except BenchError:
        return "unavailable"
    return "ok"


def _answer(request: Request, work: Callable[[], dict[str, object]]) -> JSONResponse:
    if not _is_loopback(request):
        return JSONResponse(BenchError("This door answers on this machine only.", title="Refused").as_json(), status_code=403)
    try:
        return JSONResponse(work())
    except BenchError as error:
        return JSONResponse(error.as_json(), status_code=_STATUS.get(type(error), 503))


def _is_loopback(request: Request) -> bool:
    try:
        return request.client is not None and ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False
