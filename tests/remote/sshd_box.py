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

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import pytest

from core.errors import BenchError
from core.remote.ssh_host import SshAddress
from core.remote.ssh_link import fetch_host_key
from tests.remote.box_engine import Engine, install_engine
from tests.remote.box_tools import SEARCHED, SSHD, descendants_of, do, free_pair, missing

__all__ = ["REPO", "Engine", "SshdBox", "install_engine"]

REPO = Path(__file__).resolve().parents[2]


class SshdBox:
    """Context manager: the box runs while it is entered. `extra` lines go into sshd's configuration.

    `disk_mib`: the agent's folder lies on a disk of its own of that size; 0 for none.
    """

    def __init__(self, extra: str = "", disk_mib: int = 0) -> None:
        mark = secrets.token_hex(3)
        self.user = f"dlbox{mark}"
        self.netns = f"dlbox-{mark}"
        self._near, self._far = f"dl{mark}a", f"dl{mark}b"
        self._extra, self._disk_mib = extra, disk_mib
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
            self._make_disk()
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
            do(*self._undo.pop(), attempts=10)
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

    @property
    def root(self) -> Path:
        """The agent's folder."""
        return self.home / ".draftledger"

    def host_key_line(self) -> str:
        """Type and base64 of the host key that sshd shows now."""
        return " ".join((self._private / "host.pub").read_text().split()[:2])

    def host_fingerprint(self) -> str:
        """What `ssh-keygen -lf` prints for that key."""
        return do("ssh-keygen", "-lf", self._private / "host.pub").split()[1]

    def descendants(self) -> list[tuple[int, str]]:
        """Everything that was started through this sshd and still lives: (pid on this machine, command line)."""
        return descendants_of(self.pid)

    def cut(self) -> None:
        """Takes the link down inside the box: packets vanish both ways and no connection is told."""
        do("ip", "-n", self.netns, "link", "set", self._far, "down")

    def heal(self) -> None:
        """Brings the link back."""
        do("ip", "-n", self.netns, "link", "set", self._far, "up")
        do("ip", "neigh", "flush", "dev", self._near)

    def inside(self, *argv: str) -> None:
        """Runs a command as root in the box's network, for example a packet filter's."""
        do("ip", "netns", "exec", self.netns, *argv)

    def move(self) -> None:
        """The box gets another address; connections to the old one go nowhere."""
        here, self.ip = free_pair()
        for words in (("-n", self.netns, "addr", "flush", "dev", self._far), ("addr", "flush", "dev", self._near)):
            do("ip", *words)
        do("ip", "addr", "add", f"{here}/30", "dev", self._near)
        self.inside("ip", "addr", "add", f"{self.ip}/30", "dev", self._far)

    @contextlib.contextmanager
    def filtered(self, *rule: str) -> Iterator[None]:
        """A packet filter's rule inside the box while it is entered, for example ("INPUT", "-j", "DROP")."""
        self.inside("iptables", "-w", "-I", *rule)
        try:
            yield
        finally:
            self.inside("iptables", "-w", "-D", *rule)

    @contextlib.contextmanager
    def resetting(self) -> Iterator[None]:
        """Every packet that arrives for sshd is answered with a reset."""
        with self.filtered("INPUT", "-p", "tcp", "--dport", str(self.port), "-j", "REJECT", "--reject-with", "tcp-reset"):
            yield

    @contextlib.contextmanager
    def losing(self, share: float) -> Iterator[None]:
        """This share of the packets gets lost, in both directions."""
        lost = ("-m", "statistic", "--mode", "random", "--probability", str(share), "-j", "DROP")
        with self.filtered("INPUT", *lost), self.filtered("OUTPUT", *lost):
            yield

    @contextlib.contextmanager
    def slow(self, rate: str) -> Iterator[None]:
        """What the box sends goes at this rate, for example "64kbit"."""
        words = ("rate", rate, "burst", "8kb", "latency", "2s")
        self.inside("tc", "qdisc", "add", "dev", self._far, "root", "tbf", *words)
        try:
            yield
        finally:
            self.inside("tc", "qdisc", "del", "dev", self._far, "root")

    def new_host_key(self) -> None:
        """sshd shows another host key from now on; connections that are open stay."""
        for path in (self._private / "host", self._private / "host.pub"):
            path.unlink()
        self._keygen("host")
        os.kill(self.pid, signal.SIGHUP)
        # Until the new one is shown: right after the signal the old process may still greet, and then its port is closed for a moment.
        for _ in range(600):
            with contextlib.suppress(BenchError):
                if fetch_host_key(self.ip, self.port)[1] == self.host_fingerprint():
                    return
            time.sleep(0.05)
        raise RuntimeError("sshd did not take up its new host key")

    def new_key(self, name: str) -> Path:
        """A further key pair of the app's, accepted nowhere yet."""
        self._keygen(name)
        return self.own_key(name)

    def own_key(self, name: str) -> Path:
        """Path of a key of the app's."""
        return self._private / name

    def accept_line(self, line: str) -> None:
        """A further line of accepted keys, as an owner would write it."""
        with self._authorized.open("a") as file:
            file.write(line.rstrip("\n") + "\n")

    def remove_key(self) -> None:
        """No key is accepted any more."""
        self._authorized.write_text("")

    def accept_key(self) -> None:
        """Accepts the fixture's own key (again)."""
        shutil.copyfile(self._private / "client.pub", self._authorized)

    def drop_connections(self) -> None:
        """Ends every session process of sshd: each open connection breaks at once, what was started through it lives on."""
        for pid, line in self.descendants():
            if not line.startswith("sshd"):
                continue
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
        do("useradd", "--no-create-home", "--home-dir", self.home, "--shell", "/bin/bash", "--password", "*", self.user, attempts=10)
        self._undo.append(("userdel", self.user))
        entry = pwd.getpwnam(self.user)
        self.uid, self.gid = entry.pw_uid, entry.pw_gid
        self.home.mkdir(mode=0o700)
        os.chown(self.home, self.uid, self.gid)

    def _make_disk(self) -> None:
        if self._disk_mib:
            self.root.mkdir(mode=0o700)
            do("mount", "-t", "tmpfs", "-o", f"size={self._disk_mib}m,mode=0700,uid={self.uid},gid={self.gid}", "box", self.root)
            self._undo.append(("umount", "--lazy", str(self.root)))

    def _make_network(self) -> None:
        do("ip", "netns", "add", self.netns)
        self._undo.append(("ip", "netns", "del", self.netns))  # the pair of interfaces goes with it
        here, self.ip = free_pair()
        do("ip", "link", "add", self._near, "type", "veth", "peer", "name", self._far, "netns", self.netns)
        do("ip", "addr", "add", f"{here}/30", "dev", self._near)
        do("ip", "link", "set", self._near, "up")
        do("ip", "-n", self.netns, "addr", "add", f"{self.ip}/30", "dev", self._far)
        do("ip", "-n", self.netns, "link", "set", self._far, "up")
        do("ip", "-n", self.netns, "link", "set", "lo", "up")

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
        do("ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f", self._private / name)

    def _start(self) -> None:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        config = self._private / "sshd_config"
        config.write_text(
            f"ListenAddress 0.0.0.0\nPort {self.port}\nHostKey {self._private}/host\nPidFile none\n"
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
            env={"PATH": SEARCHED, "LANG": "C.UTF-8"},
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
