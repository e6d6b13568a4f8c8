"""The API held against its own OpenAPI: requests made from the description, right ones and wrong ones, down to headers and broken bytes."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance, status_code_conformance
from starlette.applications import Starlette
from starlette.middleware import Middleware

from core.api import routes as door_routes
from core.api.doors import DOORS
from core.api.gate import Gate
from core.api.openapi import description
from core.api.routes import routes
from core.services.audit import list_audit
from core.services.tokens import make_token
from core.services.worksheets import propose
from tests.services.asgi_client import Client
from tests.services.conftest import REQUEST

# Refusing everything outside the description is left out: a form takes "3" for 3, as a person types it.
NAMES = {"worksheet_id": "w-fuzz", "run_id": "0" * 32, "number": "1"}
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture
def client(house, monkeypatch):
    monkeypatch.setattr(door_routes, "PER_MINUTE", 10**9)
    monkeypatch.setattr(door_routes, "WRONG_PER_MINUTE", 10**9)
    services = SimpleNamespace(house=house, database=house.store.audit._db)
    return Client(Starlette(routes=routes(lambda: services), middleware=[Middleware(Gate, pages=("home",), only_here=False)]))


def held_against_its_description(client, house, examples):
    """`examples` requests; heavy doors have tests of their own. Half keep the token that the tool made up, half the names in the path."""
    schema = schemathesis.openapi.from_dict(description("1"))
    light = [schema[door.path][door.method] for door in DOORS if not door.is_heavy]
    token = f"Bearer {make_token(house, {'name': 'contract', 'role': 'admin'})}"
    calls = st.sampled_from([(one, mode) for one in light for mode in GenerationMode])
    cases = calls.flatmap(lambda call: call[0].as_strategy(generation_mode=call[1]))
    seen = []

    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck), derandomize=examples < 1000)
    @given(cases, st.booleans(), st.booleans())
    def once(case, is_known, is_plain):
        if is_plain and isinstance(case.path_parameters, dict):
            case.path_parameters = {name: NAMES.get(name, "none") for name in case.path_parameters}
        asked = case.as_transport_kwargs(base_url="http://127.0.0.1/api/v1")
        if is_known:
            asked["headers"] = {**{name: value for name, value in asked["headers"].items() if name.lower() != "authorization"}}
            asked["headers"]["authorization"] = token
        asked["headers"] = {name: value.encode("latin-1", "replace") for name, value in asked["headers"].items()}
        sent = {name: value for name, value in asked.items() if name in ("headers", "params", "json") and value is not None}
        if asked.get("data") is not None:
            sent["content"] = asked["data"]
        answer = client.request(asked["method"], asked["url"], **sent)
        case.validate_response(answer, checks=CHECKS, transport_kwargs=asked)
        assert "Traceback" not in answer.text
        seen.append(answer.status_code)
        if answer.status_code >= 400:
            assert json.loads(answer.text)["status"] == answer.status_code

    once()
    return set(seen)


def test_every_answer_is_one_that_the_description_names(client, house):
    propose(house, REQUEST, who="Ada", worksheet_id="w-fuzz")
    assert held_against_its_description(client, house, 250) >= {200, 401, 404, 422}
    refused = {line["action"] for line in list_audit(house) if line["outcome"] == "denied"}
    assert refused <= {"decision.take"}, "an admin's token is refused only a signature in another name"


@pytest.mark.soak
def test_every_answer_is_one_that_the_description_names_for_long(client, house):
    held_against_its_description(client, house, 5000)
