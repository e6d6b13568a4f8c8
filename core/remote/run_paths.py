"""Every file name of a run, on a box and on this machine. Only names listed here are ever joined to a folder."""

from __future__ import annotations

import re
from dataclasses import dataclass

from core.errors import InvalidInput

_RUN_ID = re.compile(r"[0-9a-f]{32}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LOG_NAME = re.compile(r"server-[1-9][0-9]{0,3}\.log|telemetry\.csv|heartbeat\.json|agent\.log")


def check_run_id(run_id: str) -> str:
    """The id itself when it is 32 hex digits; anything else never becomes part of a path."""
    if not isinstance(run_id, str) or not _RUN_ID.fullmatch(run_id):
        raise InvalidInput({"run_id": "32 digits of 0-9 and a-f."})
    return run_id


def check_log_name(name: str) -> str:
    """The name itself when it is one of a run's readable files."""
    if not isinstance(name, str) or not _LOG_NAME.fullmatch(name):
        raise InvalidInput({"name": "server-<n>.log, telemetry.csv, heartbeat.json or agent.log."})
    return name


@dataclass(frozen=True)
class RootPaths:
    """Files that belong to a root folder, not to one run."""

    root: str

    @property
    def allow(self) -> str:
        """Engines and models the box's registration permits."""
        return f"{self.root}/allow.json"

    @property
    def agent_folder(self) -> str:
        """Where packed agents lie, each named by its content."""
        return f"{self.root}/agent"

    def agent(self, sha256: str) -> str:
        """The packed agent with this content."""
        if not _SHA256.fullmatch(sha256):
            raise InvalidInput({"agent": "A SHA-256 in hex."})
        return f"{self.agent_folder}/{sha256}.pyz"


@dataclass(frozen=True)
class RunPaths:
    """Files of one run under a root folder; the same names on either side."""

    root: str
    run_id: str

    def __post_init__(self) -> None:
        check_run_id(self.run_id)

    @property
    def folder(self) -> str:
        """The run's own folder."""
        return f"{self.root}/runs/{self.run_id}"

    @property
    def spec(self) -> str:
        """What was asked, complete."""
        return f"{self.folder}/spec.json"

    @property
    def events(self) -> str:
        """The append-only record."""
        return f"{self.folder}/events.jsonl"

    @property
    def heartbeat(self) -> str:
        """The last sign of life."""
        return f"{self.folder}/heartbeat.json"

    @property
    def cancel(self) -> str:
        """Its presence asks the run to stop."""
        return f"{self.folder}/cancel"

    @property
    def agent_state(self) -> str:
        """Who runs it: pid, start time, boot id, engine groups."""
        return f"{self.folder}/agent.json"

    @property
    def agent_log(self) -> str:
        """The agent's own stderr."""
        return f"{self.folder}/agent.log"

    @property
    def telemetry(self) -> str:
        """Clock, temperature and load over time."""
        return f"{self.folder}/telemetry.csv"

    def server_log(self, start: int) -> str:
        """What the engine printed at its n-th start, from 1."""
        return self.log(f"server-{start}.log")

    def log(self, name: str) -> str:
        """A readable file by name."""
        return f"{self.folder}/{check_log_name(name)}"
