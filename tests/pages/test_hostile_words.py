"""Payloads on the pages that the browser's pass leaves out, and a table of every field that a person can type into.

The browser's pass (tests/browser/test_stored_xss.py) opens the other pages over the same hostile house.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from typing import Any

from google.protobuf.json_format import MessageToDict

import core.domain
import core.services
from core.bootstrap import Services
from core.domain.forms import Record
from core.services.identity import local_actor
from tests.browser.test_stored_xss import PAYLOADS, QUIET
from tests.fakes.hostile_house import fill
from tests.pages.conftest import OpenPage, words

# Every record that a person fills → its fields for words. tests/fakes/hostile_house.py types payloads into each that is free text;
# ids, hashes and names of what is there are refused otherwise (tests/unit/test_typed_fields.py).
FIELDS = {
    "BoxForm": "name host user key_path engine models python jump",
    "Suite": "id argv at",
    "Engine": "id argv",
    "ModelFile": "name path",
    "Proposal": "title box_id engine_id model workload_id suites recipe_id",
    "SweepRequest": "title box_id engine_id model workload_id suites recipe_id worksheet_id repeat_of segment_of",
    "WorksheetForm": "title box_id engine_id model workload_id suites recipe_id cloned_from",
    "Note": "text by",
    "Comment": "text by",
    "SuiteScores": "suite",
    "DecisionForm": "worksheet_id owner on_behalf_of reason against_why second seen_sha256 sign_id",
    "OldProduction": "label cell_id fit failure_modes",
    "WithdrawForm": "owner reason sign_id",
    "PersonForm": "key name",
    "TokenForm": "name",
    "TrafficShares": "shares",
    "MatrixFilter": "model build box workload provenance",
    **dict.fromkeys(("Asker", "Importer", "Reaper", "_Proposer"), "by"),
}
SHIPPED = {"Box", "Workload", "Prompt"}  # a box as stored comes from its form; the others ship with the product
_AS_TEXT = ("Text", "Code", "TextInput", "TextArea", "Arrow", "PlotlyChart", "Json", "Selectbox", "MultiSelect")  # never Markdown
_RUNS = re.compile(r"(?<!\\)\]\(\s*(?:javascript|data|vbscript):", re.IGNORECASE)


def records(kind: type[Record]) -> dict[str, str]:
    """Records below this one → their fields whose value is words."""
    found = {}
    for one in kind.__subclasses__():
        fields = [
            name for name, field in one.model_fields.items() if "str" in str(field.annotation) and "Literal" not in str(field.annotation)
        ]
        if one.__module__.startswith(("core.domain", "core.services")) and fields and one.__name__ not in SHIPPED:
            found[one.__name__] = " ".join(fields)
        found |= records(one)
    return found


def test_every_field_for_words_is_in_the_table() -> None:
    """A new one: have tests/fakes/hostile_house.py type into it, then name it here."""
    for package in (core.domain, core.services):
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
    assert records(Record) == FIELDS


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
    ids = fill(services.house.acting(local_actor("Ada")), [text for text in PAYLOADS if "](" in text or "<img" in text])
    seen = 0
    for name in sorted(QUIET):
        at = open_page(name, person=PAYLOADS[1], **ids)
        assert not at.exception, name
        texts = [*markdown_in(at.main), *markdown_in(at.sidebar)]
        assert [text[:200] for text in texts if _RUNS.search(text)] == [], name
        seen += "alert(1)" in words(at)
    assert seen >= 2, "the payloads are there"
