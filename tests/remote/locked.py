"""Locks a test box the way its owner would, after docs/agent.md: the agent and allow.json installed, the app's key bound to the gate."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.__main__ import main
from core.remote.ssh_host import SshAddress
from tests.remote.sshd_box import SshdBox

STANDARD, LOCKED = "standard", "locked"
# A test that takes this as its mode is played in standard mode at every run of the tests, and in locked mode by `make soak`.
LOCKED_IN_SOAK = [STANDARD, pytest.param(LOCKED, marks=pytest.mark.soak)]


@dataclass
class Locked:
    """A locked box and the app's key for it; `root`: folder of its runs."""

    box: SshdBox
    address: SshAddress
    root: Path


def lock(box: SshdBox, engines: dict[str, str], models: str, *, python: str = "/usr/bin/python3", agent: bytes | None = None) -> Locked:
    """Installs the gate for a key of its own, once for each interpreter; engines: id → path. `agent`: instead of the packed one."""
    place = box.home / f"gate-{Path(python).name}"
    if place.exists():
        return Locked(box, box.address(key_path=str(box.own_key(place.name))), place / "box")
    key = box.new_key(place.name)
    words = [word for name, path in engines.items() for word in ("--engine", f"{name}={path}")]
    where = ["--models", models, "--install-at", str(place), "--python", python]
    with tempfile.TemporaryDirectory() as folder:
        kit = Path(folder)
        assert main(["gate-kit", str(kit), "--public-key", f"{key}.pub", *words, *where, "--json"]) == 0
        for name, target in (("agent.pyz", place / "agent.pyz"), ("allow.json", place / "box" / "allow.json")):
            data = agent if agent and name == "agent.pyz" else (kit / name).read_bytes()
            box.run_as_user(["mkdir", "-p", "-m", "700", str(target.parent)])
            box.run_as_user(["sh", "-c", 'umask 077; cat >"$1"', "sh", str(target)], stdin=data)
        box.accept_line((kit / "authorized_keys.line").read_text())
    return Locked(box, box.address(key_path=str(key)), place / "box")
