"""Two workers for `make test`: what starts an engine, a browser or sshd runs in one, one after another; the rest, by file, beside it."""

from __future__ import annotations

import pytest

ONE_AFTER_ANOTHER = ("tests/agent/", "tests/browser/", "tests/engine/", "tests/remote/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        file = item.nodeid.partition("::")[0]
        item.add_marker(pytest.mark.xdist_group("machine" if file.startswith(ONE_AFTER_ANOTHER) else file))
