"""The box for tests keeps what it promises: another user, own processes, hidden checkout, a working engine, nothing left at the end."""

from __future__ import annotations

import pwd
import subprocess
import time
from pathlib import Path

import pytest

from core.remote.ssh_host import SshHost
from tests.remote import box_tools
from tests.remote.sshd_box import REPO, SshdBox, install_engine


def test_a_box_leaves_nothing_behind() -> None:
    with SshdBox() as box:
        user, netns, folder = box.user, box.netns, box.folder
        host = SshHost(box.address())
        assert host.run(["id", "-un"]).out.decode().strip() == user
        host.run(["sh", "-c", "setsid -f sleep 300 >/dev/null 2>&1 </dev/null"])
        host.close()
        while not (daemons := [pid for pid, line in box.descendants() if line == "sleep 300"]):
            time.sleep(0.02)
        assert box.run_as_user(["id", "-u"]).stdout.decode().strip() == str(box.uid)
    assert not Path(f"/proc/{daemons[0]}").exists()
    assert not folder.exists()
    assert netns not in subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    with pytest.raises(KeyError):
        pwd.getpwnam(user)


def test_a_missing_tool_is_named_and_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(box_tools.PACKAGES, "/usr/sbin/no-such-sshd", "openssh-server")
    with pytest.raises(pytest.fail.Exception, match="apt-get install openssh-server"), SshdBox():
        pass


def test_the_engine_runs_for_the_boxs_user(box: SshdBox, ssh_host: SshHost) -> None:
    engine = install_engine(box, models=())
    done = ssh_host.run([engine.server, "--version"])
    assert done.rc == 0
    assert b"version:" in done.err + done.out
    text = "".join(path.read_text() for path in (Path(engine.server), box.home / "engine" / "launcher.py"))
    assert str(REPO) not in text
    assert str(REPO).encode() not in ssh_host.run([engine.server, "--help"]).out
