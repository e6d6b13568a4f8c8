"""Payloads on the pages that the browser's pass leaves out, and a table of every field that a person can type into.

The browser's pass (tests/browser/test_stored_xss.py) opens the other pages over the same hostile house.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import Any

from google.protobuf.json_format import MessageToDict

from core.bootstrap import Services
from core.config import ROOT
from core.services.identity import local_actor
from tests.browser.test_stored_xss import PAYLOADS, QUIET
from tests.fakes.hostile_house import fill
from tests.pages.conftest import OpenPage, words

# File → how many fields for words it has. Each is typed into by tests/fakes/hostile_house.py, or what it takes is not kept.
FIELDS = {
    "box_form.py": 8,  # Box by hand: what the form would refuse too
    "box_admin.py": 1,  # the same fields of a box that is there
    "suite_panel.py": 3,  # register_suite, Suite
    "suite_form.py": 3,  # type_suite
    "people_list.py": 3,  # set_person
    "token_list.py": 1,  # make_token
    "worksheet_history.py": 1,  # comment
    "worksheet_merge.py": 1,  # type_text
    "worksheet_text.py": 1,  # type_text
    "decision_form.py": 7,  # decide, withdraw
    "old_production.py": 7,  # decide: old
    "propose_form.py": 1,  # propose: title
    "person.py": 2,  # who, by, owner of all of them
    "ledger_filters.py": 2,  # not kept
    "price_form.py": 1,  # numbers, not kept
    "receipt_more.py": 1,  # not kept: searched literally
}
FILES = {"import_preview.py": 1, "measure_form.py": 1}  # import_files; a recipe file: tests/unit/test_typed_fields.py
_AS_TEXT = ("Text", "Code", "TextInput", "TextArea", "Arrow", "PlotlyChart", "Json", "Selectbox", "MultiSelect")  # never Markdown
_RUNS = re.compile(r"(?<!\\)\]\(\s*(?:javascript|data|vbscript):", re.IGNORECASE)


def calls_of(*names: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for path in [*(ROOT / "core" / "ui").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names:
                found[path.name] += 1
    return found


def test_every_field_for_words_is_in_the_table() -> None:
    """A new one: have tests/fakes/hostile_house.py type into it, then count it here."""
    assert calls_of("text_input", "text_area", "chat_input") == FIELDS
    assert calls_of("file_uploader", "data_editor", "camera_input") == FILES


def markdown_in(block: Any) -> list[str]:
    """Every text of a page that is read as Markdown: bodies, labels, options, titles."""
    found = []
    for node in block:
        proto = getattr(node, "proto", None)
        if proto is not None and proto.DESCRIPTOR.name not in _AS_TEXT:
            found += _texts(MessageToDict(proto))
    return found


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in _texts(part)]


def test_the_quiet_pages_make_nothing_of_hostile_words(services: Services, open_page: OpenPage) -> None:
    ids = fill(services.house.acting(local_actor("Ada")), PAYLOADS)
    seen = 0
    for name in sorted(QUIET):
        at = open_page(name, person=PAYLOADS[1], **ids)
        assert not at.exception, name
        texts = [*markdown_in(at.main), *markdown_in(at.sidebar)]
        assert [text[:200] for text in texts if _RUNS.search(text)] == [], name
        seen += "alert(1)" in words(at)
    assert seen >= 2, "the payloads are there"
