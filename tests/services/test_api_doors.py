"""Every door of /api/v1: tokens and roles, problem+json, limits, and whatever anyone may send."""

from __future__ import annotations

import io
import itertools
import json
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.middleware import Middleware

from core.api import routes as door_routes
from core.api.doors import DOORS
from core.api.gate import API_BODY, Gate
from core.api.limits import HEAVY_PER_MINUTE, WRONG_PER_MINUTE
from core.api.openapi import description
from core.api.routes import routes
from core.domain.price_form import priced
from core.formats.reader import read
from core.services.audit import list_audit
from core.services.exports import export_all
from core.services.identity import local_actor
from core.services.people import list_people
from core.services.run_report import run_report
from core.services.tokens import make_token, revoke_token
from core.services.worksheets import list_worksheets, propose
from tests.door_table import LEAST, ROLES, may
from tests.fakes.measured_run import write_run
from tests.services.asgi_client import Client
from tests.services.test_imports import PAIR

PROPOSAL = {"title": "t", "box_id": "this-machine", "engine_id": "embedded", "model": "made-dense", "workload_id": "chat-short", "n_max": 2}


@pytest.fixture
def app(house):
    services = SimpleNamespace(house=house, database=house.store.audit._db)
    gate = Middleware(Gate, pages=("home", "worksheet"), only_here=False)
    return Starlette(routes=routes(lambda: services), middleware=[gate])


@pytest.fixture
def client(app):
    return Client(app)


@pytest.fixture
def token(house):
    """A token of a role, made once."""
    made = {}

    def of(role):
        if role not in made:
            made[role] = make_token(house, {"name": f"the {role}", "role": role})
        return {"authorization": f"Bearer {made[role]}"}

    return of


UNKNOWN = {"run_id": "0" * 32, "worksheet_id": "w-none", "cell_id": "none", "row": "none", "number": "9", "box_id": "none"}


def sent(client, door, headers, **more):
    path = door.path.format(**UNKNOWN)
    body = {"json": {}} if door.body and "json" not in more and "content" not in more else {}
    return client.request(door.method, f"/api/v1{path}", headers=headers, **body, **more)


def test_every_role_at_every_door(client, token, house):
    """Denied before anything is looked at; where the role reaches, the door answers in its own words."""
    for door, role in itertools.product(DOORS, ROLES[1:]):
        if door.is_heavy and may(role, door.action) and role != LEAST[door.action]:
            continue  # done once, by the least role that may
        answer = sent(client, door, token(role))
        if may(role, door.action):
            assert answer.status_code in (200, 404, 409, 422), (door, role, answer.text)
        else:
            assert answer.status_code == 403 and answer.headers["content-type"] == "application/problem+json", (door, role)
            assert answer.json()["detail"] and answer.json()["error"]["hint"]
    refused = [(door.action, door.path) for door in DOORS for role in ROLES[1:] if not may(role, door.action)]
    denied = [(line["action"], line["object"]) for line in list_audit(house, limit=2000) if line["outcome"] == "denied"]
    assert sorted(denied) == sorted(refused)


def test_without_a_valid_token_every_door_but_the_local_matrix_is_shut(client, token, house, monkeypatch):
    monkeypatch.setattr(door_routes, "WRONG_PER_MINUTE", 10**9)
    revoked = make_token(house, {"name": "old", "role": "admin"})
    revoke_token(house, revoked.split("_")[1])
    good = token("admin")["authorization"]
    for door in DOORS:
        for header in (f"Bearer {revoked}", good[:-1] + "!", good.replace("Bearer", "Basic"), "Bearer", "Bearer " + "x" * 5000):
            assert sent(client, door, {"authorization": header}).status_code == 401, door
        assert sent(client, door, {}).status_code == (200 if door.path == "/matrix" else 401), door


def test_with_sign_in_not_even_the_matrix_is_open(house):
    services = SimpleNamespace(house=house, database=house.store.audit._db)
    client = Client(Starlette(routes=routes(lambda: services, has_sign_in=True)))
    answer = client.get("/api/v1/matrix")
    assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer"


def test_a_walk_through_the_api_writes_under_the_tokens_name(client, token, house):
    made = client.post("/api/v1/worksheets", json=PROPOSAL, headers=token("runner")).json()
    path = f"/api/v1/worksheets/{made['worksheet_id']}"
    assert client.post(f"{path}/comments", json={"text": "<b>well</b>"}, headers=token("runner")).json() == {"added": True}
    typed = client.post(f"{path}/entries", json={"field": "spill", "side": "note", "text": "none"}, headers=token("runner"))
    assert typed.status_code == 200 and typed.json()["typed_by"] == "the runner"
    shown = client.get(path, headers=token("viewer")).json()
    assert shown["worksheet"]["created_by"] == "the runner" and shown["comments"][0]["text"] == "<b>well</b>"
    order = {**PROPOSAL, "run_id": "a" * 32}
    assert client.post("/api/v1/runs", json=order, headers=token("runner")).json() == {"run_id": "a" * 32, "started": True}
    assert client.post("/api/v1/runs", json=order, headers=token("runner")).json()["started"] is False
    assert client.post("/api/v1/runs", json={**PROPOSAL, "run_id": "x"}, headers=token("runner")).status_code == 422
    assert client.post(f"/api/v1/runs/{'a' * 32}/stop", headers=token("runner")).json()["asked"] is True
    assert client.get(f"/api/v1/runs/{'a' * 32}", headers=token("viewer")).json()["requested_by"] == "the runner"


def test_what_the_command_line_offers_has_a_door(client, token, house):
    """price, read, worksheet, decide, verify-ledger, export, backup, doctor, person over one store, as their verbs answer them."""

    def ask(method, path, role, body=None, status=200):
        answer = client.request(method, f"/api/v1{path}", headers=token(role), **({} if body is None else {"json": body}))
        assert answer.status_code == status, answer.text
        return answer

    rates = {"baseline_tok_s": 22.2, "spec_tok_s": 18.8, "n_max": 3, "accept_share": 0.78}
    assert ask("POST", "/price", "viewer", rates).json() == json.loads(json.dumps(priced(rates)))
    ask("POST", "/price", "viewer", {**rates, "spec_tok_s": 1e-300}, 422)
    log = PAIR.decode()
    assert ask("POST", "/read", "viewer", {"text": log}).json() == json.loads(json.dumps(read(PAIR).as_json()))
    assert ask("POST", "/read", "viewer", {"text": "nothing"}, 422).json()["title"] == "Output not understood"
    sheet = ask("POST", "/references/qwen-27b-q8/worksheets", "runner").json()["worksheet_id"]
    ask("POST", f"/worksheets/{sheet}/suites", "runner", {"suite": "tools", "scores": [50, 52], "side": "baseline"})
    ask("POST", f"/worksheets/{sheet}/n-max", "runner", {"n_max": 16}, 422)
    shown = ask("GET", f"/worksheets/{sheet}", "viewer").json()
    assert shown["suggestion"]["action"] == "widen" and shown["worksheet"]["created_by"] == "the runner"
    assert next(row for row in shown["fields"] if row["key"] == "suite")["baseline"]["text"] == "tools: 50, 52"
    words = {"worksheet_id": sheet, "verdict": "reject", "owner": "the decider", "reason": "not now", "against_why": "no time"}
    assert ask("POST", "/ledger/preview", "viewer", words).json()["against_suggestion"] is True
    seen = ask("POST", "/ledger/preview", "decider", words).json()
    assert seen["against_suggestion"] is True and seen["text"].startswith("Draftledger decision")
    assert ask("POST", "/ledger", "decider", {**words, "seen_sha256": seen["sha256"]}).json()["details"]["signed_sha256"] == seen["sha256"]
    ask("POST", "/ledger/x/withdraw", "decider", {"owner": "the decider", "reason": "wrong"}, 422)
    ask("POST", "/ledger/1/withdraw", "decider", {"owner": "Somebody", "reason": "wrong"}, 403)
    assert ask("POST", "/ledger/1/withdraw", "decider", {"owner": "the decider", "reason": "wrong"}).json()["verdict"] == "withdrawn"
    proved = ask("POST", "/verify-ledger", "viewer", {}).json()
    assert (proved["ok"], proved["entries"]) == (True, 2)
    assert ask("POST", "/verify-ledger", "viewer", {"witness": proved["head"]}).json()["proves"] == 2
    assert ask("POST", "/verify-ledger", "viewer", {"witness": "0" * 64}).json()["ok"] is False
    ask("POST", "/verify-ledger", "viewer", {"witness": "saw nothing"}, 422)
    person = {"key": "https://id.example 7", "name": "Bo", "role": "viewer"}
    assert ask("POST", "/people", "admin", person).json()["who"] == "the admin"
    assert [one["key"] for one in ask("GET", "/people", "admin").json()["people"]] == [person["key"]]
    assert ask("POST", "/doctor", "admin", {}).json()["facts"]
    made = ask("POST", "/backup", "admin").json()
    assert Path(made["backup"]).parent == house.upkeep.folder / "backups" and made["kind"] == "asked"


def test_an_export_is_one_file_that_holds_what_the_verb_writes_and_leaves_nothing_behind(client, token, house, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temp"))
    (tmp_path / "temp").mkdir()
    answer = client.get("/api/v1/export", headers=token("viewer"))
    assert answer.status_code == 200 and answer.headers["content-type"] == "application/zip"
    assert answer.headers["content-disposition"] == 'attachment; filename="draftledger-export.zip"'
    assert int(answer.headers["content-length"]) == len(answer.content)
    export_all(house.acting(local_actor("Ada")), tmp_path / "out")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        names = {name.removeprefix("draftledger-export/") for name in archive.namelist()}
        matrix = archive.read("draftledger-export/matrix.json")
        assert json.loads(archive.read("draftledger-export/manifest.json"))["ledger"]["ok"] is True
    assert names == {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert matrix == (tmp_path / "out" / "matrix.json").read_bytes() and list((tmp_path / "temp").iterdir()) == []
    assert [line["actor"] for line in list_audit(house) if line["action"] == "export"][-1].startswith("token:")


def test_heavy_doors_open_one_at_a_time_and_a_few_times_a_minute(client, token):
    with door_routes._HEAVY:
        busy = client.post("/api/v1/backup", headers=token("admin"))
    assert busy.status_code == 409 and busy.json()["title"] == "Busy"
    codes = [client.post("/api/v1/boxes/none/reap", headers=token("admin"), json={}).status_code for _ in range(HEAVY_PER_MINUTE)]
    assert codes == [404] * (HEAVY_PER_MINUTE - 1) + [429]
    assert client.get("/api/v1/people", headers=token("admin")).status_code == 200


def test_a_cell_and_a_recipe_travel_as_their_pages_show_them(client, token, house):
    run_id = write_run(house)
    row = next(row for row in client.get("/api/v1/matrix", headers=token("viewer")).json()["rows"] if row["run_id"] == run_id)
    cell = client.get(f"/api/v1/cells/{row['cells']['1']['cell_id']}", headers=token("viewer")).json()
    assert cell["cell"]["tok_s"] == row["cells"]["1"]["tok_s"] and cell["explained"]["ledger"]["sentence"] and len(cell["samples"]) >= 3
    shown = client.get(f"/api/v1/runs/{run_id}", headers=token("viewer")).json()
    report = json.loads(json.dumps(run_report(house, run_id), default=str))
    listed = client.get("/api/v1/runs?results=1", headers=token("viewer")).json()["runs"]
    assert [(one["run_id"], one["winner"]) for one in listed] == [(run_id, report["winner"])] and listed[0]["stages"][0]["status"] == "ok"
    assert "winner" not in client.get("/api/v1/runs", headers=token("viewer")).json()["runs"][0]
    told = client.post("/api/v1/boxes/this-machine/check", headers=token("runner")).json()
    assert told["models"] and house.store.boxes.latest_check("this-machine")["ok"]
    assert {name: shown[name] for name in report if name != "stages"} == {name: report[name] for name in report if name != "stages"}
    recipe = client.get(f"/api/v1/runs/{run_id}/recipe", headers=token("viewer")).json()
    sweep = client.post("/api/v1/recipes", json={"text": recipe["text"]}, headers=token("viewer")).json()["sweep"]
    assert (sweep["model"], sweep["n_max"]) == (shown_request(house, run_id)["model"], shown_request(house, run_id)["n_max"])
    again = client.post(f"/api/v1/runs/{run_id}/repeat", json={"run_id": "b" * 32}, headers=token("runner"))
    assert again.json() == {"run_id": "b" * 32, "started": True}
    assert client.post(f"/api/v1/runs/{run_id}/resume", json={}, headers=token("runner")).status_code == 409


def shown_request(house, run_id):
    return house.store.runs.get(run_id)["request"]


def test_odd_requests_are_problems_with_their_own_status(client, token):
    admin = token("admin")
    for nowhere, status in (("nothing", 404), ("runs/", 404), ("openapi.json/x", 404), ("", 404), ("cells/%0A", 400), ("runs/a%00b", 400)):
        answer = client.get(f"/api/v1/{nowhere}", headers=admin)
        assert answer.status_code == status and answer.headers["content-type"] == "application/problem+json", nowhere
    wrong = client.delete("/api/v1/matrix", headers=admin)
    assert wrong.status_code == 405 and wrong.headers["allow"] == "GET"
    assert client.get("/api/v1/matrix?sort=; DROP TABLE runs", headers=admin).status_code == 422
    path = "/api/v1/worksheets"
    for content, kind, status in (
        (b"{}", "text/plain", 415),
        (b"{", "application/json", 422),
        (b"[1]", "application/json", 422),
        (b'{"n_max": NaN}', "application/json", 422),
        (b"[" * 200_000, "application/json", 422),
        (b"\xff\xfe", "application/json", 422),
        (b" " * (API_BODY + 1), "application/json", 413),
    ):
        answer = client.post(path, content=content, headers={**admin, "content-type": kind})
        assert answer.status_code == status, content[:20]
        assert answer.headers["content-type"] == "application/problem+json"


def test_a_body_that_lies_about_its_length_is_cut(client, token):
    async def pieces():
        for _ in range(50):
            yield b"x" * 100_000

    answer = client.post("/api/v1/worksheets", content=pieces(), headers={**token("admin"), "content-type": "application/json"})
    assert answer.status_code == 413


def test_too_many_requests_and_too_many_wrong_tokens(client, token, monkeypatch):
    monkeypatch.setattr(door_routes, "PER_MINUTE", 3)
    codes = [client.get("/api/v1/runs", headers=token("viewer")).status_code for _ in range(5)]
    assert codes == [200, 200, 200, 429, 429]
    codes = [client.get("/api/v1/runs", headers={"authorization": f"Bearer {n}"}).status_code for n in range(WRONG_PER_MINUTE + 2)]
    assert codes[:WRONG_PER_MINUTE] == [401] * WRONG_PER_MINUTE and codes[-1] == 429
    assert int(client.get("/api/v1/runs", headers=token("admin")).headers["retry-after"]) <= 60


def test_openapi_names_every_door_and_every_form(client):
    found = client.get("/api/v1/openapi.json").json()
    assert found == json.loads(json.dumps(description(found["info"]["version"])))
    assert {(method.upper(), path) for path, methods in found["paths"].items() for method in methods} == {(d.method, d.path) for d in DOORS}
    text = json.dumps(found)
    for name in set(part.split('"')[0] for part in text.split("#/components/schemas/")[1:]):
        assert name in found["components"]["schemas"]


HOSTILE = [
    *("", "this-machine", "made-dense", "embedded", "chat-short", "w-none", "keep", "note", "spill"),
    *("../x", "\ud800", "\0", "-1", "9" * 400, "a" * 5000),
    *("'; DROP TABLE runs; --", "<script>alert(1)</script>", "=cmd|' /C calc'!A0"),
]
WORDS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=40),
    st.sampled_from(HOSTILE),
    st.lists(st.one_of(st.integers(), st.text(max_size=5)), max_size=4),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=3),
)


def bodies(door):
    fields = list(door.body.model_fields) if door.body else ["x"]
    loose = st.dictionaries(st.one_of(st.sampled_from(fields), st.text(max_size=8)), WORDS, max_size=8)
    near = st.dictionaries(st.sampled_from(fields), WORDS, max_size=2).map(
        lambda wrong: {**PROPOSAL, **wrong} if "box_id" in fields else wrong
    )
    return st.one_of(loose, near)


def fuzz(client, token, house, examples):
    calls = st.sampled_from(DOORS).flatmap(lambda door: st.tuples(st.just(door), bodies(door), st.text(max_size=20), st.text(max_size=20)))

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), derandomize=examples < 1000)
    @given(calls)
    def once(call):
        door, body, part, query = call
        odd = part.encode("utf-8", "replace").hex() or "0" * 32
        path = door.path.format(**{**dict.fromkeys(UNKNOWN, odd), "worksheet_id": "w-fuzz"})
        params = {"model": query.encode("utf-8", "replace")}
        headers = {**token("admin"), "content-type": "application/json"}
        answer = client.request(door.method, f"/api/v1{path}", params=params, headers=headers, content=json.dumps(body).encode())
        assert answer.status_code < 500, (door.path, body, answer.text)
        assert "Traceback" not in answer.text
        if answer.status_code >= 400:
            assert answer.json()["status"] == answer.status_code

    propose(house, PROPOSAL, who="Ada", worksheet_id="w-fuzz")
    once()


def test_whatever_is_sent_no_door_breaks(client, token, house, monkeypatch):
    monkeypatch.setattr(door_routes, "PER_MINUTE", 10**9)
    fuzz(client, token, house, 600)
    assert list_people(house) == [] and all(row["worksheet"]["title"] for row in list_worksheets(house))


@pytest.mark.soak
def test_whatever_is_sent_no_door_breaks_for_long(client, token, house, monkeypatch):
    monkeypatch.setattr(door_routes, "PER_MINUTE", 10**9)
    fuzz(client, token, house, 10_000)
