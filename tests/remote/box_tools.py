"""What a test box is made with: system tools, addresses nobody uses, and the tree of processes."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from pathlib import Path

SSHD = "/usr/sbin/sshd"
PACKAGES = {
    SSHD: "openssh-server",
    "ssh-keygen": "openssh-client",
    "ip": "iproute2",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "useradd": "passwd",
    "userdel": "passwd",
}
SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def missing() -> str:
    """What this machine lacks for a box, as one sentence with the way to get it; empty when nothing."""
    if os.geteuid() != 0:
        return "The SSH tests make users and network namespaces: run them as root (sudo)."
    packages = sorted({package for tool, package in PACKAGES.items() if not shutil.which(tool, path=SEARCHED)})
    if packages:
        return f"The SSH tests need: {' '.join(packages)}. Install with: apt-get install {' '.join(packages)}"
    probe = subprocess.run(["unshare", "--net", "--pid", "--fork", "--mount-proc", "true"], capture_output=True, text=True, check=False)
    if probe.returncode:
        return f"The SSH tests need network and process namespaces, which this machine refuses: {probe.stderr.strip()}"
    return ""


def do(*argv: str | Path, attempts: int = 1) -> str:
    for attempt in range(attempts):
        done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout
        if attempt + 1 < attempts:
            time.sleep(0.3)  # another test may hold the user database
    raise RuntimeError(f"{' '.join(map(str, argv))}: {done.stderr.strip()}")


def free_pair() -> tuple[str, str]:
    """Two addresses of a /30 that no interface here uses."""
    taken = do("ip", "-o", "-4", "addr")
    while True:
        base = f"10.{random.randint(200, 249)}.{random.randint(0, 255)}"
        if f" {base}." not in taken:
            return f"{base}.1", f"{base}.2"


def _stat_ppid(pid: str) -> int | None:
    try:
        return int(Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError):
        return None


def descendants_of(pid: int) -> list[tuple[int, str]]:
    """(pid, command line) of every process below one, as this machine counts them."""
    children: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        parent = _stat_ppid(name)
        if parent is not None:
            children.setdefault(parent, []).append(int(name))
    found, waiting = [], list(children.get(pid, []))
    while waiting:
        one = waiting.pop()
        waiting += children.get(one, [])
        try:
            raw = Path(f"/proc/{one}/cmdline").read_bytes()
        except OSError:
            continue
        found.append((one, raw.replace(b"\0", b" ").decode(errors="replace").strip()))
    return sorted(found)
