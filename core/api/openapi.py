"""The OpenAPI description of `/api/v1`, made from the table of doors."""

from __future__ import annotations

import re
from typing import Any

from pydantic.json_schema import models_json_schema

from core.api.door import ApiDoor
from core.api.doors import DOORS
from core.domain.roles import ACTIONS

PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "hint": {"type": "string"},
        "error": {"type": "object"},
    },
}
_REFUSALS = {
    "400": "an address that cannot be",
    "401": "no valid token",
    "403": "the token's role does not reach that far",
    "404": "no such thing",
    "405": "no such method here",
    "409": "not as things stand",
    "413": "too large",
    "415": "the body is not JSON",
    "422": "the body or the query is not right",
    "429": "too many requests",
    "502": "the box did not do it",
    "503": "the store cannot be used",
}


def description(version: str) -> dict[str, Any]:
    """OpenAPI 3.1."""
    _, schemas = models_json_schema([(door.body, "validation") for door in DOORS if door.body], ref_template="#/components/schemas/{model}")
    paths: dict[str, dict[str, Any]] = {}
    for door in DOORS:
        paths.setdefault(door.path, {})[door.method.lower()] = _operation(door)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Draftledger", "version": version},
        "servers": [{"url": "/api/v1"}],
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": {**schemas.get("$defs", {}), "Problem": PROBLEM},
        },
    }


def _schema_of(door: ApiDoor) -> dict[str, str]:
    return {"type": "object"} if door.gives == "application/json" else {"type": "string", "format": "binary"}


def _operation(door: ApiDoor) -> dict[str, Any]:
    named = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in re.findall(r"\{(\w+)\}", door.path)]
    asked = [{"name": name, "in": "query", "required": False, "schema": {"type": "string"}} for name in door.query]
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    operation: dict[str, Any] = {
        "operationId": f"{door.method.lower()}{re.sub(r'[^a-z]+', '-', door.path).rstrip('-')}",
        "summary": f"{door.summary} Needs the role {ACTIONS[door.action]}.",
        "parameters": [*named, *asked],
        "responses": {
            "200": {"description": "done", "content": {door.gives: {"schema": _schema_of(door)}}},
            **{code: {"description": words, "content": problem} for code, words in _REFUSALS.items()},
        },
    }
    if door.body:
        schema = {"$ref": f"#/components/schemas/{door.body.__name__}"}
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return operation
