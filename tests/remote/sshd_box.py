"""A box to test against: a real sshd under another user's account, alone in its own network, process and mount namespaces.

What is guaranteed while an `SshdBox` is entered:

* the account is a fresh ordinary user with its own home under the system's temporary folder, removed at the end;
* sshd is process 1 of its own PID namespace, so whatever is started through it, daemons included, stays its descendant and dies with it;
* the box has its own network: one address pair, its own loopback; `cut()` takes its link down, both directions, nothing is told;
* the box cannot read the app's checkout: an empty folder of root's (mode 0700) is mounted over it in the box's mount namespace.

Needs root and the packages named by `missing()`; a test that uses the fixture fails with that sentence, it is never skipped.

    with SshdBox() as box:
        host = SshHost(box.address())
        engine = install_engine(box, models=("made-moe",))      # .server: path of an executable llama-server; .models: name -> path
"""

from __future__ import annotations

import os
import pwd
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import pytest

from core.remote.ssh_host import SshAddress

REPO = Path(__file__).resolve().parents[2]
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
_SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def missing() -> str:
    """What this machine lacks for a box, as one sentence with the way to get it; empty when nothing."""
    if os.geteuid() != 0:
        return "The SSH tests make users and network namespaces: run them as root (sudo)."
    packages = sorted({package for tool, package in PACKAGES.items() if not shutil.which(tool, path=_SEARCHED)})
    if packages:
        return f"The SSH tests need: {' '.join(packages)}. Install with: apt-get install {' '.join(packages)}"
    probe = subprocess.run(["unshare", "--net", "--pid", "--fork", "--mount-proc", "true"], capture_output=True, text=True, check=False)
    if probe.returncode:
        return f"The SSH tests need network and process namespaces, which this machine refuses: {probe.stderr.strip()}"
    return ""


def _do(*argv: str | Path, attempts: int = 1) -> str:
    for attempt in range(attempts):
        done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout
        if attempt + 1 < attempts:
            time.sleep(0.3)  # another test may hold the user database
    raise RuntimeError(f"{' '.join(map(str, argv))}: {done.stderr.strip()}")


def _free_pair() -> tuple[str, str]:
    """Two addresses of a /30 that no interface here uses."""
    taken = _do("ip", "-o", "-4", "addr")
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


class SshdBox:
    """Context manager: the box runs while it is entered. `extra` lines go into sshd's configuration."""

    def __init__(self, extra: str = "") -> None:
        mark = secrets.token_hex(3)
        self.user = f"dlbox{mark}"
        self.netns = f"dlbox-{mark}"
        self._near, self._far = f"dl{mark}a", f"dl{mark}b"
        self._extra = extra
        self._process: subprocess.Popen[bytes] | None = None
        self._undo: list[tuple[str, ...]] = []
        self.pid = 0
        self.port = 22

    def __enter__(self) -> SshdBox:
        reason = missing()
        if reason:
            pytest.fail(reason, pytrace=False)
        self.folder = Path(tempfile.mkdtemp(prefix="dlbox-"))
        try:
            self.folder.chmod(0o755)
            self._make_user()
            self._make_network()
            self._make_keys()
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends every process of the box, then removes account, network and files."""
        if self._process is not None:
            self._process.kill()  # unshare's --kill-child takes sshd along, and with process 1 goes the namespace
            self._process.wait()
            self._process = None
            self._log.close()
            while self.pid and Path(f"/proc/{self.pid}").exists():
                time.sleep(0.01)
        while self._undo:
            _do(*self._undo.pop(), attempts=10)
        shutil.rmtree(self.folder)

    def address(self, **changes: object) -> SshAddress:
        """How the app reaches the box, its host key confirmed; keyword arguments replace fields."""
        values: dict[str, object] = {
            "host": self.ip,
            "port": self.port,
            "user": self.user,
            "key_path": str(self.key),
            "passphrase_env": None,
            "pinned_key": self.host_key_line(),
        }
        return SshAddress(**{**values, **changes})  # type: ignore[arg-type]

    def host_key_line(self) -> str:
        """Type and base64 of the host key that sshd shows now."""
        return " ".join((self._private / "host.pub").read_text().split()[:2])

    def host_fingerprint(self) -> str:
        """What `ssh-keygen -lf` prints for that key."""
        return _do("ssh-keygen", "-lf", self._private / "host.pub").split()[1]

    def descendants(self) -> list[tuple[int, str]]:
        """Everything that was started through this sshd and still lives: (pid on this machine, command line)."""
        return descendants_of(self.pid)

    def cut(self) -> None:
        """Takes the link down inside the box: packets vanish both ways and no connection is told."""
        _do("ip", "-n", self.netns, "link", "set", self._far, "down")

    def heal(self) -> None:
        """Brings the link back."""
        _do("ip", "-n", self.netns, "link", "set", self._far, "up")
        _do("ip", "neigh", "flush", "dev", self._near)

    def new_host_key(self) -> None:
        """sshd shows another host key from now on; connections that are open stay."""
        for path in (self._private / "host", self._private / "host.pub"):
            path.unlink()
        self._keygen("host")
        os.kill(self.pid, signal.SIGHUP)
        self._wait()

    def remove_key(self) -> None:
        """No key is accepted any more."""
        self._authorized.write_text("")

    def accept_key(self) -> None:
        """Accepts the fixture's own key (again)."""
        shutil.copyfile(self._private / "client.pub", self._authorized)

    def drop_connections(self) -> None:
        """Ends every process below sshd: each open connection breaks at once."""
        for pid, _ in self.descendants():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def run_as_user(self, argv: list[str], stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Runs an argument list as the box's user inside the box, without SSH. Such a process is no descendant of sshd."""
        enter = ["nsenter", "--target", str(self.pid), "--mount", "--pid", "--net", "--setgid", str(self.gid), "--setuid", str(self.uid)]
        login = [
            "env",
            "-i",
            "-C",
            str(self.home),
            f"HOME={self.home}",
            f"USER={self.user}",
            "PATH=/usr/local/bin:/usr/bin:/bin",
            "LANG=C.UTF-8",
        ]
        return subprocess.run([*enter, "--", *login, *argv], input=stdin, capture_output=True, check=False)

    def put_for_user(self, source: Path, target: Path) -> None:
        """A file the box's user can read: linked where the disk allows it, so a large one costs nothing."""
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.stat().st_mode & 0o004:
            try:
                os.link(source, target)
                return
            except OSError:  # another file system
                pass
        shutil.copyfile(source, target)
        target.chmod(0o644)

    def _make_user(self) -> None:
        self.home = self.folder / "home"
        _do("useradd", "--no-create-home", "--home-dir", self.home, "--shell", "/bin/bash", "--password", "*", self.user, attempts=10)
        self._undo.append(("userdel", self.user))
        entry = pwd.getpwnam(self.user)
        self.uid, self.gid = entry.pw_uid, entry.pw_gid
        self.home.mkdir(mode=0o700)
        os.chown(self.home, self.uid, self.gid)

    def _make_network(self) -> None:
        _do("ip", "netns", "add", self.netns)
        self._undo.append(("ip", "netns", "del", self.netns))  # the pair of interfaces goes with it
        here, self.ip = _free_pair()
        _do("ip", "link", "add", self._near, "type", "veth", "peer", "name", self._far, "netns", self.netns)
        _do("ip", "addr", "add", f"{here}/30", "dev", self._near)
        _do("ip", "link", "set", self._near, "up")
        _do("ip", "-n", self.netns, "addr", "add", f"{self.ip}/30", "dev", self._far)
        _do("ip", "-n", self.netns, "link", "set", self._far, "up")
        _do("ip", "-n", self.netns, "link", "set", "lo", "up")

    def _make_keys(self) -> None:
        self._private = self.folder / "private"
        self._private.mkdir(mode=0o700)
        public = self.folder / "public"  # sshd reads the accepted keys with the user's rights
        public.mkdir(mode=0o755)
        self._authorized = public / "authorized_keys"
        self.key = self._private / "client"
        self._keygen("host")
        self._keygen("client")
        self._authorized.touch(mode=0o644)
        self.accept_key()

    def _keygen(self, name: str) -> None:
        _do("ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f", self._private / name)

    def _start(self) -> None:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        config = self._private / "sshd_config"
        config.write_text(
            f"ListenAddress {self.ip}\nPort {self.port}\nHostKey {self._private}/host\nPidFile none\n"
            f"AuthorizedKeysFile {self._authorized}\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
            f"KbdInteractiveAuthentication no\nUseDNS no\nAllowUsers {self.user}\nSubsystem sftp internal-sftp\n{self._extra}\n"
        )
        # Newer servers slow a caller down after failed sign-ins; the tests make many on purpose.
        penalties = ["-o", "PerSourcePenalties=no"]
        if subprocess.run([SSHD, "-t", *penalties, "-f", str(config)], capture_output=True, check=False).returncode:
            penalties = []
        hide = 'mount -t tmpfs -o mode=0700,size=64k hidden "$1" && shift && exec "$@"'
        self._log = (self._private / "sshd.log").open("wb")
        self._process = subprocess.Popen(
            [
                *("ip", "netns", "exec", self.netns, "unshare", "--pid", "--fork", "--kill-child", "--mount-proc"),
                *("sh", "-c", hide, "sh", str(REPO), SSHD, "-D", "-e", "-f", str(config), *penalties),
            ],
            cwd="/",
            env={"PATH": _SEARCHED, "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._log,
        )
        self._wait()
        self.pid = min(pid for pid, _ in descendants_of(self._process.pid))

    def _wait(self) -> None:
        """Until sshd greets; its own words when it does not."""
        for _ in range(200):
            try:
                with socket.create_connection((self.ip, self.port), timeout=1) as probe:
                    if probe.recv(4) == b"SSH-":
                        return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"sshd did not start: {(self._private / 'sshd.log').read_text()}")


@dataclass(frozen=True)
class Engine:
    """What a box's registration needs to know about the installed engine; all paths are on the box."""

    server: str
    models: dict[str, str]

    def allow(self) -> dict[str, object]:
        """The registration for AgentBox."""
        return {
            "engines": [{"id": "embedded", "kind": "llama.cpp", "argv": [self.server], "env": {}}],
            "models": [{"name": name, "path": path} for name, path in self.models.items()],
            "model_roots": [],
        }


def install_engine(box: SshdBox, models: tuple[str, ...] = ("made-moe",), model_folder: Path | None = None) -> Engine:
    """Puts the embedded engine into the box user's home: launcher, wheel, models, and an executable `llama-server` in front.

    Models come from `model_folder` (made there when missing); without one they are made for this call. Nothing on the box
    refers to the checkout. The wrapper is started once with --version before this returns.
    """
    folder = box.home / "engine"
    package = Path(_package_folder("xllamacpp"))
    for source in sorted(path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        box.put_for_user(source, folder / "site" / "xllamacpp" / source.relative_to(package))
    shutil.copyfile(REPO / "core/embedded/launcher.py", folder / "launcher.py")
    paths = _put_models(box, folder, models, model_folder)
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
            os.chown(path, box.uid, box.gid)
    python = _user_python(box, folder)
    server = folder / "llama-server"
    server.write_text(f'#!/bin/sh\nPYTHONPATH={folder}/site\nexport PYTHONPATH\nexec {python} {folder}/launcher.py "$@"\n')
    server.chmod(0o755)
    shown = box.run_as_user([str(server), "--version"])
    if shown.returncode:
        raise RuntimeError(f"the engine does not start as {box.user}: {shown.stderr.decode(errors='replace')[-2000:]}")
    return Engine(str(server), paths)


def _package_folder(name: str) -> str:
    import importlib.util

    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        pytest.fail(f"The package {name} is not installed. Install with: pip install -r requirements.txt", pytrace=False)
    return spec.submodule_search_locations[0]


def _put_models(box: SshdBox, folder: Path, models: tuple[str, ...], source: Path | None) -> dict[str, str]:
    from core.embedded.models import MODELS, make_model

    own = None if source else tempfile.mkdtemp(prefix="dlmodels-")
    paths = {}
    try:
        for name in models:
            made = make_model(MODELS[name], Path(source or own or ""))
            target = folder / "models" / made.name
            box.put_for_user(made, target)
            paths[name] = str(target)
    finally:
        if own:
            shutil.rmtree(own)
    return paths


def _user_python(box: SshdBox, folder: Path) -> str:
    """An interpreter the box's user can start that loads the wheel: the system's, the app's base, or a copy of that base."""
    base = Path(sys.base_prefix)
    program = f"bin/python{sys.version_info[0]}.{sys.version_info[1]}"
    for candidate in ("/usr/bin/python3", str(base / program)):
        if _loads_wheel(box, folder, candidate):
            return candidate
    copied = folder / "python"
    shutil.copytree(base, copied, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "site-packages", "test", "*.a"))
    for path in copied.rglob("*"):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o055 if path.is_dir() else 0o044))
    if _loads_wheel(box, folder, str(copied / program)):
        return str(copied / program)
    raise RuntimeError("no Python was found that the box's user can start and that loads the engine's wheel (3.10 or newer)")


def _loads_wheel(box: SshdBox, folder: Path, python: str) -> bool:
    done = box.run_as_user(["env", f"PYTHONPATH={folder}/site", "PYTHONDONTWRITEBYTECODE=1", python, "-c", "import xllamacpp"])
    return done.returncode == 0
