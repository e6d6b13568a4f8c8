"""What the remote tests share: one real box for the whole folder, and both kinds of host with a folder to work in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from core.ports.host import Host
from core.remote.local_host import LocalHost
from core.remote.ssh_host import SshHost, SshLimits
from tests.remote.sshd_box import SshdBox

# A dead link is noticed in about 3 s instead of 20.
QUICK = SshLimits(connect_s=3, banner_s=2, auth_s=3, channel_s=2, answer_s=3, keepalive_s=1, user_timeout_s=2)


@dataclass
class Place:
    """A host and a fresh folder on it."""

    host: Host
    folder: str
    kind: str


@pytest.fixture(scope="session")
def box() -> Iterator[SshdBox]:
    with SshdBox() as running:
        yield running


@pytest.fixture
def ssh_host(box: SshdBox) -> Iterator[SshHost]:
    host = SshHost(box.address())
    yield host
    host.close()


@pytest.fixture(scope="module")
def steady_host(box: SshdBox) -> Iterator[SshHost]:
    """One connection for a whole file of tests: for those that neither break it nor change the box's keys."""
    host = SshHost(box.address())
    yield host
    host.close()


@pytest.fixture
def quick_host(box: SshdBox) -> Iterator[SshHost]:
    host = SshHost(box.address(), QUICK)
    yield host
    host.close()


@pytest.fixture(params=["local", "ssh"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "local":
        yield Place(LocalHost(), str(tmp_path), "local")
        return
    host: SshHost = request.getfixturevalue("steady_host")
    folder = f"{request.getfixturevalue('box').home}/{uuid4().hex}"
    host.make_folder(folder)
    yield Place(host, folder, "ssh")
