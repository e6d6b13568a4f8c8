"""Names of a run's files: only known names and well-formed ids ever become part of a path."""

from __future__ import annotations

import pytest

from core.errors import InvalidInput
from core.remote.run_paths import RootPaths, RunPaths

RUN = "0123456789abcdef" * 2
EVIL = ["..", "../x", "..\\x", "%2e%2e", "/etc/passwd", "", "server-1.log/..", "server-1.log\n", "server-1.log\0", "#", "spec.json"]


def test_every_name_lies_in_the_runs_folder() -> None:
    paths = RunPaths("/r", RUN)
    names = (paths.spec, paths.events, paths.heartbeat, paths.cancel, paths.agent_state, paths.agent_log, paths.telemetry)
    assert [name.removeprefix(f"/r/runs/{RUN}/") for name in names] == [
        "spec.json",
        "events.jsonl",
        "heartbeat.json",
        "cancel",
        "agent.json",
        "agent.log",
        "telemetry.csv",
    ]
    assert paths.server_log(3) == f"/r/runs/{RUN}/server-3.log"


@pytest.mark.parametrize("run_id", [*EVIL, RUN.upper(), RUN[:-1], RUN + "0", RUN + "\n", None, 1])
def test_other_run_ids_are_refused(run_id: str) -> None:
    with pytest.raises(InvalidInput):
        RunPaths("/r", run_id)


@pytest.mark.parametrize("name", [*EVIL, "server-0.log", "server-01.log", "server-12345.log", "server-1.log.part", None])
def test_other_log_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        RunPaths("/r", RUN).log(name)


@pytest.mark.parametrize("name", ["server-1.log", "server-9999.log", "telemetry.csv", "heartbeat.json", "agent.log"])
def test_known_log_names_are_joined(name: str) -> None:
    assert RunPaths("/r", RUN).log(name) == f"/r/runs/{RUN}/{name}"


def test_agents_are_named_by_content() -> None:
    assert RootPaths("/r").agent("a" * 64) == f"/r/agent/{'a' * 64}.pyz"
    with pytest.raises(InvalidInput):
        RootPaths("/r").agent("../x")
