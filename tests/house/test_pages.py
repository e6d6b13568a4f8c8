"""Pages of the house: listed, guarded, short, and without a door for foreign HTML."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from core.config import ROOT
from core.ui.menu import ENTRIES

PAGES = sorted(path for path in (ROOT / "pages").rglob("*.py") if path.name != "__init__.py")
PAGE_LINES = 60
DRAWN = [*PAGES, *sorted((ROOT / "core" / "ui").rglob("*.py"))]


def test_no_page_lies_directly_in_pages() -> None:
    """Scripts there run without the shell until somebody opens the start page."""
    assert [path.name for path in (ROOT / "pages").glob("*.py")] == ["__init__.py"]


def test_every_page_is_listed_and_every_listed_page_is_there() -> None:
    assert sorted(entry.path for entry in ENTRIES) == [str(path) for path in PAGES]
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_begins_with_its_guard_and_stays_short(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= PAGE_LINES
    body = [node for node in ast.parse(text).body if not isinstance(node, ast.Import | ast.ImportFrom)]
    first = body[1]  # body[0] is the docstring
    assert isinstance(first, ast.Assign | ast.Expr) and isinstance(first.value, ast.Call)
    assert isinstance(first.value.func, ast.Name) and first.value.func.id == "enter"


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_foreign_is_rendered_as_html(path: Path) -> None:
    text = path.read_text("utf-8")
    for door in ("unsafe_allow_html", "unsafe_allow_javascript", "st.html(", "components.v1", "st.iframe("):
        assert door not in text


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: str(path.relative_to(ROOT)))
def test_icons_come_from_the_font_that_travels_with_the_pages(path: Path) -> None:
    """An emoji is an empty box on a machine without a font for it. The icon of the tab stays one: by that font it is fetched from afar."""
    icons = [
        word.value.value
        for call in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(call, ast.Call)
        for word in call.keywords
        if word.arg == "icon" and isinstance(word.value, ast.Constant) and word.value.value
    ]
    assert [icon for icon in icons if not icon.startswith(":material/")] == []
    assert 'page_icon=":material/' not in path.read_text("utf-8")
