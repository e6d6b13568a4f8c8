"""Every door of the house stands in a table: service calls, pages, routes, verbs. A new one without a line here fails."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from starlette.routing import Mount

from core.__main__ import _parser
from core.api.doors import DOORS
from core.api.enter import enter_route
from core.api.routes import routes
from core.commands import REGISTERS
from core.config import ROOT
from core.domain.roles import ACTIONS, LADDER
from core.ui.menu import ENTRIES
from tests.door_table import LEAST, OPEN_ROUTES, PAGES, ROLES, ROUTES, VERBS, VERBS_ON_THE_FILE, VERBS_WITHOUT_HOUSE

# Modules whose functions take a house and do not ask: the question itself, and the proof of identity that comes before it.
BEFORE_THE_QUESTION = {"access.py", "identity.py"}

# These are told a name and write nothing under it, or write it beside the actor's own in the audit log.
NAMES_A_PERSON = {"waiting_to_merge", "waiting_for", "reap", "add_box", "back_up"}


def services() -> list[tuple[str, ast.FunctionDef]]:
    """Every public service call: a function of core/services that is handed the house first."""
    found = []
    for path in sorted((ROOT / "core" / "services").glob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.args.args and node.args.args[0].arg == "house":
                found.append((path.name, node))
    return found


def first_step(node: ast.FunctionDef) -> ast.stmt:
    """The first statement after the docstring."""
    has_words = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
    return node.body[1 if has_words else 0]


@pytest.mark.parametrize(
    ("module", "node"), [one for one in services() if one[0] not in BEFORE_THE_QUESTION], ids=lambda one: getattr(one, "name", one)
)
def test_a_service_call_asks_before_anything_else(module: str, node: ast.FunctionDef) -> None:
    first = first_step(node)
    assert isinstance(first, ast.Expr) and isinstance(first.value, ast.Call), (
        f"{module}: {node.name} does not begin with authorize(house, …)"
    )
    call = first.value
    assert isinstance(call.func, ast.Name) and call.func.id == "authorize", f"{module}: {node.name} does not begin with authorize(house, …)"
    assert isinstance(call.args[0], ast.Name) and call.args[0].id == "house"
    assert isinstance(call.args[1], ast.Constant) and call.args[1].value in ACTIONS, f"{module}: {node.name} asks for an unknown act"


def test_the_search_finds_the_calls_there_are() -> None:
    names = {node.name for _, node in services()}
    assert {"start_run", "decide", "propose", "matrix_rows", "list_people", "set_person"} <= names and len(names) > 40


def test_what_writes_a_name_checks_that_it_is_the_actors_own() -> None:
    """A service that is told who signs hands that name to authorize."""
    for module, node in services():
        told = {arg.arg for arg in [*node.args.args, *node.args.kwonlyargs]} & {"who", "by"}
        if told and module not in BEFORE_THE_QUESTION and node.name not in NAMES_A_PERSON:
            asked = next(one for one in ast.walk(node) if isinstance(one, ast.Call) and getattr(one.func, "id", "") == "authorize")
            assert "signed" in {keyword.arg for keyword in asked.keywords}, f"{module}: {node.name}"


def test_every_action_is_in_the_table_under_its_least_role() -> None:
    assert ACTIONS == LEAST and LADDER == ROLES


def test_every_page_is_in_the_table_and_its_guard_asks_for_the_same() -> None:
    table = {name: action for action, names in PAGES.items() for name in names}
    assert {entry.name: entry.action for entry in ENTRIES} == table
    for entry in ENTRIES:
        text = Path(entry.path).read_text("utf-8")
        asked = re.findall(r'action="([a-z.]+)"', text)
        assert (asked or ["see"]) == [entry.action], entry.name


def test_every_route_is_in_the_table() -> None:
    table = {name: action for action, names in ROUTES.items() for name in names}
    assert {f"{door.method} {door.path}": door.action for door in DOORS} == table


def test_every_address_that_is_no_page_is_a_door_of_the_table_or_open_on_purpose() -> None:
    """A route that somebody adds beside the table of doors is found too."""
    there = set()
    for route in [enter_route(lambda: None, pages=(), told=print), *routes(lambda: None)]:  # type: ignore[arg-type,return-value]
        parts = route.routes if isinstance(route, Mount) else [route]
        there |= {(route.path if isinstance(route, Mount) else "") + one.path for one in parts}  # type: ignore[attr-defined]
    doors = {f"/api/v1{name.partition(' ')[2]}" for names in ROUTES.values() for name in names}
    assert there == doors | OPEN_ROUTES
    app = next(
        node for node in ast.parse((ROOT / "app.py").read_text("utf-8")).body if isinstance(node, ast.Assign) and "App" in ast.dump(node)
    )
    given = next(word.value for word in app.value.keywords if word.arg == "routes")  # type: ignore[attr-defined]
    assert [ast.unparse(one).partition("(")[0] for one in given.elts] == ["enter_route", "*routes"]


def test_every_verb_is_in_the_table() -> None:
    verbs = set(next(action.choices for action in _parser()._actions if action.dest == "verb"))
    named = {line.split()[0] for lines in VERBS.values() for line in lines}
    assert named | VERBS_WITHOUT_HOUSE | VERBS_ON_THE_FILE == verbs and not named & (VERBS_WITHOUT_HOUSE | VERBS_ON_THE_FILE)


def test_every_verb_opens_the_house_through_the_one_door() -> None:
    """`opened` hands the house to the local admin; no verb builds services of its own."""
    for register in REGISTERS:
        path = ROOT / (register.__module__.replace(".", "/") + ".py")
        text = path.read_text("utf-8")
        verb = re.search(r'verbs\.add\(\s*"([a-z-]+)"', text)
        assert verb is not None
        if verb.group(1) not in VERBS_WITHOUT_HOUSE:
            assert "opened(" in text or "asked(" in text or "upkeep" in text or "Settings" in text, path.name


def test_pages_and_routes_never_use_the_house_in_the_apps_own_hands() -> None:
    """`services().house` is the app's; screens take the bound one from the guard, routes from `acting`."""
    for path in [*(ROOT / "pages").rglob("*.py"), *(ROOT / "core" / "ui").rglob("*.py"), *(ROOT / "core" / "api").rglob("*.py")]:
        text = path.read_text("utf-8")
        if path.name == "context.py":
            assert len(re.findall(r"\w\.house\b", text)) == 2 and ".house.acting(" in text  # the other is the import of its type
        elif path.parent.name == "api":
            held = [line.strip() for line in text.splitlines() if re.search(r"\.house\b(?!\.version)", line) and "import" not in line]
            assert held in ([], ["house = get_services().house"]), path.name
        elif path.name != "identity.py":
            assert "services().house" not in text and "opened.house" not in text, path.name
