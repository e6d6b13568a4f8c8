"""What the fault tests need of a machine: named when it is missing, counted at the end of the run, never passed over silently."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tomllib
from functools import lru_cache
from pathlib import Path

import pytest

TABLE = Path(__file__).with_name("faults.toml")
UNAVAILABLE = "unavailable: "
MEMORY = Path("/sys/fs/cgroup/memory")
UNIFIED = (Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup"))


def rows() -> dict[str, dict[str, object]]:
    """The fault table: {row id: {fault, tests, soak}}."""
    return tomllib.loads(TABLE.read_text("utf-8"))


def need(*names: str) -> None:
    """Ends the test as *unavailable* where this machine lacks one of the means."""
    lacking = [name for name in names if not has(name)]
    if lacking:
        pytest.skip(UNAVAILABLE + ", ".join(lacking))


@lru_cache
def has(name: str) -> bool:
    """Whether this machine has the means: root, namespaces, iptables, tc, memory-cgroup, cgroup-kill, or a program."""
    if name == "root":
        return os.geteuid() == 0
    if name == "namespaces":
        return _runs("unshare", "--net", "--pid", "--fork", "--mount-proc", "true")
    if name == "iptables":
        return _runs(
            "unshare", "--net", "iptables", "-A", "INPUT", "-m", "statistic", "--mode", "random", "--probability", "0.5", "-j", "DROP"
        )
    if name == "tc":
        words = ("tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "64kbit", "burst", "8kb", "latency", "100ms")
        return _runs("unshare", "--net", *words)
    if name == "memory-cgroup":
        return has("root") and (MEMORY / "memory.limit_in_bytes").exists()
    if name == "cgroup-kill":
        return has("root") and any((path / "cgroup.procs").exists() and (path / "cgroup.controllers").exists() for path in UNIFIED)
    return shutil.which(name) is not None


def _runs(*argv: str) -> bool:
    if shutil.which(argv[0]) is None:
        return False
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


def must_be_whole() -> bool:
    """Root on Debian (or Ubuntu) with namespaces: there every row can be shown, so none may be missing."""
    known = Path("/etc/debian_version").exists() and platform.system() == "Linux"
    return known and has("root") and has("namespaces")
