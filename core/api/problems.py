"""Errors of the API as application/problem+json, with the house's own {"error": {title, message, hint}} beside."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from core.errors import (
    BenchError,
    BoxBusy,
    DecisionRefused,
    InvalidInput,
    NotAllowed,
    NotFound,
    OutputNotUnderstood,
    PreflightRefused,
    RemoteError,
    StoreError,
)

_STATUS: tuple[tuple[type[BenchError], int], ...] = (
    (InvalidInput, 422),
    (OutputNotUnderstood, 422),
    (NotFound, 404),
    (NotAllowed, 403),
    (BoxBusy, 409),
    (DecisionRefused, 409),
    (PreflightRefused, 409),
    (RemoteError, 502),
    (StoreError, 503),
)


def answer(body: dict[str, Any]) -> Response:
    """A good answer; times as text, no NaN."""
    text = json.dumps(body, default=str, ensure_ascii=False, allow_nan=False)
    return Response(text, media_type="application/json", headers={"cache-control": "no-store"})


def problem(error: BenchError, status: int | None = None, headers: dict[str, str] | None = None) -> Response:
    """The error as its status and form."""
    code = status or next((number for kind, number in _STATUS if isinstance(error, kind)), 400)
    body = {
        "type": "about:blank",
        "title": error.title,
        "status": code,
        "detail": str(error),
        "hint": error.hint,
        "reason": HTTPStatus(code).phrase,
        **error.as_json(),
    }
    # What a caller sent may stand in a message: escaped, so that half a surrogate cannot break the answer.
    return Response(
        json.dumps(body), status_code=code, media_type="application/problem+json", headers={"cache-control": "no-store", **(headers or {})}
    )
