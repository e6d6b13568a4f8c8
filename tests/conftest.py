"""Counts the rows of the fault table that a run of the tests has shown, and fails where one could not be shown for want of means.

Two workers: browsers and boxes in one, one after another; beside it the rest by file, the longest first, and real engines at the end.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests import means

# A browser drops what it is loading when a network interface comes or goes, and the boxes under test have interfaces of their own.
NETWORK = ("tests/browser/", "tests/remote/")
MEASURES = (
    *("tests/agent/test_agent_real_engine", "tests/agent/test_honesty", "tests/agent/test_known_acceptance", "tests/agent/test_tool_loop"),
    "tests/engine/",
)
LONG = ("tests/services/", "tests/agent/", "tests/pages/")

_passed: set[str] = set()
_unavailable: dict[str, str] = {}


class SideBySide(LoadScopeScheduling):  # type: ignore[misc]
    """Hands tests to the workers by file, but all of one kind that bears nothing beside it to the same one."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = nodeid.partition("::")[0]
        return next((names[0] for names in (NETWORK, MEASURES) if file.startswith(names)), file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SideBySide:
    config.option.loadscopereorder = False  # the order below stands: a long file that begins last is waited for
    return SideBySide(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browsers and boxes begin, the real engines come last: then no browser is left beside them."""
    folders = (NETWORK, *LONG)

    def place(item: pytest.Item) -> int:
        if item.nodeid.startswith(MEASURES):
            return len(folders) + 1
        return next((at for at, names in enumerate(folders) if item.nodeid.startswith(names)), len(folders))

    items.sort(key=place)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    name = report.nodeid.partition("[")[0]
    if report.passed and report.when == "call":
        _passed.add(name)
    elif report.skipped and isinstance(report.longrepr, tuple) and means.UNAVAILABLE in report.longrepr[2]:
        _unavailable[name] = report.longrepr[2].rpartition(means.UNAVAILABLE)[2]


def _counted() -> tuple[list[str], dict[str, str], int]:
    """Rows that were shown, rows that could not be (with what is missing), number of rows that a test stands for."""
    table = {row: entry["tests"] + entry.get("soak", []) for row, entry in means.rows().items() if entry["tests"]}
    shown = [row for row, tests in table.items() if _passed & set(tests)]
    lacking = {row: _unavailable[test] for row, tests in table.items() for test in tests if test in _unavailable}
    return shown, lacking, len(table)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _counted()[1] and means.must_be_whole() and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    shown, lacking, every = _counted()
    if not shown and not lacking:
        return
    open_rows = [row for row, entry in means.rows().items() if not entry["tests"]]
    rest = f"; not built: {', '.join(open_rows)}" if open_rows else ""
    terminalreporter.write_line(f"fault table: {len(shown)} of {every} rows shown, {len(lacking)} unavailable on this machine{rest}")
    for row, what in lacking.items():
        word = "FAILED, it has to be shown here" if means.must_be_whole() else "unavailable"
        terminalreporter.write_line(f"  {row}: {word}: {what}")
