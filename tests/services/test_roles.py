"""Every role at every service call and at every verb, by doing it. Pages: tests/pages/test_roles.py; routes: test_api_doors.py."""

from __future__ import annotations

import importlib
import inspect
import itertools
import json
import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.__main__ import main
from core.bootstrap import build
from core.commands import frame
from core.config import Settings
from core.domain.roles import NOBODY, Actor
from core.errors import NotAllowed
from core.services.access import authorize
from core.services.audit import list_audit
from core.services.decisions import decide
from core.services.identity import local_actor
from core.services.worksheets import propose
from tests.door_table import LEAST, ROLES, VERBS, may
from tests.house.test_doors import BEFORE_THE_QUESTION, first_step, services
from tests.services.conftest import REQUEST

ROOT_OF = "core.services"


class StandIn(str):
    """A word whose every attribute is such a word."""

    def __getattr__(self, name):
        return StandIn(name)


class Row(dict):
    """An object that has every key asked for by name."""

    def __missing__(self, key):
        return "x"


STAND_INS = {
    "str": "x", "int": 1, "float": 1.0, "bool": False, "bytes": b"", "Path": Path("/nowhere"), "dict": Row(), "list": [], "tuple": (),
}  # fmt: skip


def acting(house, role):
    """One and the same person, so that a refusal is written down once and not for each role."""
    return house.acting(Actor("https://id.example p", "P", role, "page", is_named=False) if role else NOBODY)


def stand_ins(function):
    """An argument of the right kind for everything after the house that has no default."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    needed = [one for one in parameters if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
    made = {one.name: STAND_INS.get(str(one.annotation).partition("[")[0], StandIn("x")) for one in needed}
    by_place = [made[one.name] for one in needed if one.kind is one.POSITIONAL_OR_KEYWORD]
    return by_place, {one.name: made[one.name] for one in needed if one.kind is one.KEYWORD_ONLY}


def test_a_role_may_what_the_table_says_and_nothing_else(house):
    for role, action in itertools.product(["", *ROLES, "emperor"], [*LEAST, "no.such.act"]):
        if role in ROLES and action in LEAST and may(role, action):
            authorize(acting(house, role), action)
        else:
            with pytest.raises(NotAllowed):
                authorize(acting(house, role), action)


def test_every_service_call_refuses_every_role_that_does_not_reach(house):
    """Each call is made, as each role below the one it asks for: refused before it looks at anything, so nothing else is raised."""
    tried = 0
    for module, node in services():
        if module in BEFORE_THE_QUESTION:
            continue
        call = getattr(importlib.import_module(f"{ROOT_OF}.{module.removesuffix('.py')}"), node.name)
        action = first_step(node).value.args[1].value
        by_place, by_name = stand_ins(call)
        for role in ["", *(role for role in ROLES if not may(role, action))]:
            with pytest.raises(NotAllowed):
                call(acting(house, role), *by_place, **by_name)
            tried += 1
    assert tried > 2 * 100
    denied = [line for line in list_audit(house.acting(local_actor("Ada")), limit=2000) if line["outcome"] == "denied"]
    assert {line["action"] for line in denied} >= {"see", "export", "run.start", "decision.take", "house.keep"}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Services that stay open while verb after verb is called on them, and what verbs are called with."""
    folder = tmp_path_factory.mktemp("verbs")
    opened = build(Settings(db=folder / "t.duckdb", local_dir=folder / "local"))
    sheet = propose(opened.house, REQUEST, who="Ada")
    decided = propose(opened.house, REQUEST, who="Ada")
    decide(opened.house, {"worksheet_id": decided, "verdict": "reject", "owner": "Ada", "reason": "x"})
    (folder / "bench.json").write_text("[]")
    words = {"sheet": sheet, "decided": decided, "run": "0" * 32, "file": str(folder / "bench.json"), "folder": str(folder / "out")}
    shut = SimpleNamespace(close=lambda: None)
    yield replace(opened, database=shut, jobs=shut), words
    opened.database.close()
    opened.jobs.close()


def lines():
    return [(action, line) for action, named in VERBS.items() for line in named]


@pytest.mark.parametrize(("action", "line"), lines(), ids=lambda one: one)
def test_every_role_at_every_verb(kept, monkeypatch, capsys, action, line):
    """The command line is the local admin of the file. Were it somebody else, the table would hold there as well."""
    opened, words = kept
    monkeypatch.setattr(frame, "build", lambda settings: opened)
    argv = [*shlex.split(line.format(**words)), "--json"]
    for role in (role for role in ROLES if not may(role, action)):
        monkeypatch.setattr(frame, "local_actor", lambda name, via, role=role: replace(local_actor(name, via=via), role=role))
        assert main(argv) == 1, (role, line)
        assert json.loads(capsys.readouterr().out)["error"]["title"] == "Not allowed", (role, line)
    assert not Path(words["folder"]).exists()


def test_the_command_line_is_the_local_admin_whoever_types_and_the_log_says_so(kept, monkeypatch, capsys):
    """What that means: whoever can open the file may do everything to it, under any name; the log names the user of this computer."""
    opened, _ = kept
    monkeypatch.setattr(frame, "build", lambda settings: opened)
    assert main(["worksheet", "new", "--model", "made-dense", "--by", "Somebody Else", "--json"]) == 0
    sheet = json.loads(capsys.readouterr().out)["worksheet_id"]
    assert opened.house.store.worksheets.get(sheet)["created_by"] == "Somebody Else"
    assert main(["person", "https://id.example 7", "--name", "Bo", "--role", "viewer", "--json"]) == 0
    capsys.readouterr()
    line = list_audit(opened.house, limit=1)[0]
    me = local_actor("command line", via="cli")
    assert (line["action"], line["actor"], line["name"], line["via"]) == ("person.set", me.key, "command line", "cli")
    assert me.role == "admin" and me.key.startswith("local:")


def test_only_its_owner_can_open_the_file_that_makes_one_admin(kept):
    opened, words = kept
    folder = Path(words["file"]).parent
    files = [path for path in folder.rglob("*") if path.name.startswith("t.duckdb") or path.parent.name == "t.duckdb.d"]
    assert {path.name for path in files} >= {"t.duckdb", "t.duckdb.d", "t.duckdb.wal"}
    assert [path.name for path in files if path.stat().st_mode & 0o077 and path.parent == folder] == []
