"""Names what the tests need and this machine lacks, and stops: nothing is skipped silently. `python -m tests.needs`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path


def chromium() -> str | None:
    """The browser the tests drive: CHROMIUM, else one on PATH."""
    named = os.environ.get("CHROMIUM")
    if named:
        return named if Path(named).is_file() else None
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def missing() -> list[str]:
    """One sentence for each thing that is not there."""
    found = []
    if os.geteuid() != 0:
        found.append("root: the SSH box of the tests is another Unix user in its own network namespace. Run as root.")
    if not Path("/usr/sbin/sshd").exists():
        found.append("sshd: apt-get install openssh-server")
    if not shutil.which("ip"):
        found.append("ip: apt-get install iproute2")
    for tool, package in (
        ("unshare", "util-linux"),
        ("useradd", "passwd"),
        ("iptables", "iptables"),
        ("tc", "iproute2"),
        ("ssh-keygen", "openssh-client"),
    ):
        if not shutil.which(tool):
            found.append(f"{tool}: apt-get install {package}")
    if chromium() is None:
        found.append("Chromium: apt-get install chromium, or set CHROMIUM to a browser's path.")
    if os.geteuid() == 0 and shutil.which("unshare") and subprocess.run(["unshare", "--net", "true"], check=False).returncode:
        found.append("network namespaces: `unshare --net` is refused here. Run outside a restricted container.")
    return found


if __name__ == "__main__":
    lacking = missing()
    if lacking:
        sys.exit("These tests cannot run here. Missing:\n" + "\n".join(f"  - {line}" for line in lacking))
