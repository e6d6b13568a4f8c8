"""Pages run under AppTest over real services on a temporary database; the follower's thread stays off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from core.bootstrap import Services, build
from core.config import ROOT, Settings
from core.services.house import House
from core.services.worksheets import propose, type_suite
from core.ui import context
from core.ui.menu import entry
from core.ui.state import PERSON, SERVER_START
from tests.fakes.begun_house import put_begun_house
from tests.fakes.measured_run import write_run

# Streamlit's own test runner looks through every installed package at each run of a page; once is enough.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)

OpenPage = Callable[..., AppTest]
ASKED = {"title": "MTP for the lab", "box_id": "this-machine", "engine_id": "embedded", "model": "made-moe", "workload_id": "chat-short"}
GOOD = {"production": {1: [50, 51, 52], 0: [40, 41, 42]}}


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    """The services every page of this test sees."""
    put_begun_house(tmp_path / "test.duckdb")
    opened = build(Settings(db=tmp_path / "test.duckdb", local_dir=tmp_path / "local", local_token="off"))
    monkeypatch.setattr(opened.follower, "start", lambda: None)
    monkeypatch.setattr(opened.housekeeper, "start", lambda: None)
    monkeypatch.setattr(context, "build", lambda: opened)
    st.cache_resource.clear()
    yield opened
    st.cache_resource.clear()
    opened.jobs.close()
    opened.database.close()


@pytest.fixture
def house(services: Services) -> House:
    """What the use cases are called with."""
    return services.house


@pytest.fixture
def sheet(house: House) -> str:
    """A proposed worksheet, nothing measured."""
    return propose(house, {**ASKED, "production_c": 4}, who="Ada")


@pytest.fixture
def priced(house: House, sheet: str) -> str:
    """The worksheet measured at both concurrencies, suite scores typed in."""
    write_run(house, worksheet_id=sheet, model="made-moe", **GOOD)
    for side, scores in (("baseline", [50.0, 52.0]), ("candidate", [48.0, 51.0])):
        type_suite(house, sheet, side, {"suite": "tools", "scores": scores}, by="Bo")
    return sheet


@pytest.fixture
def open_page(services: Services) -> OpenPage:
    """`open_page("receipt", cell=…, person="Ada")`: the app's shell, turned to a page, with query parameters and a name."""

    def open_(name: str, *, person: str = "", **query: str) -> AppTest:
        at = AppTest.from_file(str(ROOT / "core" / "ui" / "shell.py"), default_timeout=30)
        at.session_state[PERSON] = person
        at.session_state[SERVER_START] = "this tab is not left from before a restart"
        at.run()
        at.switch_page(entry(name).path)
        for key, value in query.items():
            at.query_params[key] = value
        return at.run()

    return open_


def words(at: AppTest) -> str:
    """Everything a page says, for assertions on sentences."""
    kinds = ("title", "header", "subheader", "caption", "markdown", "text", "code", "error", "warning", "info", "success")
    said = [str(element.value) for kind in kinds for element in at.get(kind)]
    return "\n".join([*said, *(cells(element.value) for element in at.table)])


def cells(frame: pd.DataFrame) -> str:
    """The texts of a real table, as Markdown."""
    return "\n".join([*map(str, frame.index), *(str(text) for text in frame.to_numpy().ravel())])
