"""Every fault of the table has a test that exists; each of those is in the table under its own name."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path

import pytest

from tests import means

ROOT = Path(__file__).resolve().parents[2]
LAST = {"N": 13, "B": 24, "A": 15, "S": 23, "G": 11}  # network, box, app, security, governance
ROWS = [f"{kind}{number}" for kind, last in LAST.items() for number in range(1, last + 1)]


@lru_cache
def functions_of(file: str) -> dict[str, bool]:
    """Test functions of a file: name → whether it runs in a soak only."""
    tree = ast.parse((ROOT / file).read_text("utf-8")) if (ROOT / file).is_file() else ast.Module([], [])
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    return {node.name: any("mark.soak" in ast.unparse(d) or "mark.chaos" in ast.unparse(d) for d in node.decorator_list) for node in found}


def test_the_table_has_every_row_and_no_other() -> None:
    assert list(means.rows()) == ROWS


@pytest.mark.parametrize("row", ROWS)
def test_a_row_names_tests_that_exist(row: str) -> None:
    entry = means.rows()[row]
    assert set(entry) <= {"fault", "tests", "soak", "not_built"} and entry["fault"]
    assert bool(entry["tests"]) != bool(entry.get("not_built")), "a row has a test, or says that it is not built"
    for kind, long in (("tests", False), ("soak", True)):
        for named in entry.get(kind, []):
            file, _, name = named.partition("::")
            assert functions_of(file).get(name) is long, f"{row}: {named} is no {kind} entry of that file"


def test_a_missing_test_would_be_seen() -> None:
    assert functions_of("tests/nowhere.py") == {}
    assert "test_no_such_thing" not in functions_of("tests/house/test_fault_table.py")
