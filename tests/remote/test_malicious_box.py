"""A box that is somebody else's by now, over real SSH: whatever its server sends, the app gives it up with a sentence, its memory kept."""

from __future__ import annotations

import resource

import pytest

from core.errors import RemoteError
from core.remote.agent_box import AgentBox
from core.remote.locked_box import LockedBox
from core.remote.ssh_host import SshHost
from tests.remote import fake_agent
from tests.remote.conftest import QUICK
from tests.remote.sshd_box import SshdBox

# In sshd's place behind the key: what it says to a command and to the file service, by name.
EVIL = """#!/usr/bin/python3 -IS
import struct, sys
out, ask = sys.stdout.buffer, sys.stdin.buffer
def packet(kind, body):
    out.write(struct.pack(">IB", len(body) + 1, kind) + body); out.flush()
def asked():
    size = struct.unpack(">I", ask.read(4))[0]
    return ask.read(size)
how = "HOW"
try:
    if how == "endless output":
        while True: out.write(b"x" * 65536)
    if how == "endless line":
        out.write(b"@@draftledger {" + b"x" * (1 << 19)); out.flush(); sys.exit(0)
    asked(); packet(2, struct.pack(">I", 3))
    while True:
        request = asked(); number = request[1:5]
        if how == "huge packets":
            out.write(struct.pack(">I", 0x00FFFFFF))
            while True: out.write(b"\\0" * 65536)
        if how == "answers nobody asked for":
            while True: packet(101, struct.pack(">II", 0x7FFFFFFF, 0) + b"\\0" * 1000)
        if how == "garbage":
            out.write(b"\\xff" * 5000); out.flush()
        kind = request[0]
        if kind == 3: packet(102, number + struct.pack(">I", 1) + b"h")
        elif kind == 5: packet(103, number + struct.pack(">I", 8 << 20) + b"y" * (8 << 20))
        elif kind in (7, 8, 17): packet(105, number + struct.pack(">IQ", 1, 1 << 62))
        elif kind == 16: packet(104, number + struct.pack(">II", 1, 7) + b"../../x" + struct.pack(">I", 1) + b"l" + struct.pack(">I", 0))
        else: packet(101, number + struct.pack(">II", 0, 0) + struct.pack(">II", 0, 0))
except (BrokenPipeError, struct.error):
    pass
"""


@pytest.fixture(scope="module")
def turned(box: SshdBox):
    """Keys of the app's, each of which meets another kind of malice."""
    keys: dict[str, str] = {}

    def key_for(how: str) -> str:
        if how not in keys:
            name = f"evil{len(keys)}"
            program = box.home / name
            program.write_text(EVIL.replace("HOW", how))
            program.chmod(0o755)
            key = box.new_key(name)
            box.accept_line(f'restrict,command="{program}" {key.with_suffix(".pub").read_text()}')
            keys[how] = str(key)
        return keys[how]

    yield key_for
    box.accept_key()


def grown_mib(before: int) -> float:
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


@pytest.mark.parametrize("how", ["huge packets", "answers nobody asked for", "garbage", "more than asked"])
def test_a_file_service_that_lies_is_given_up(box: SshdBox, turned, how: str) -> None:
    host = SshHost(box.address(key_path=turned(how)), QUICK)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(RemoteError) as told:
        host.read("/anything", 0, 1000)
    assert told.value.message and grown_mib(before) < 120
    with pytest.raises(RemoteError):
        host.put(b"x", "/anything")
    host.close()


def test_a_size_that_cannot_be_and_a_home_that_climbs_stay_words(box: SshdBox, turned) -> None:
    host = SshHost(box.address(key_path=turned("lies")), QUICK)
    assert host.size("/anything") == 1 << 62
    assert host.home() == "../../x", "a place on the box, and never one here"
    host.close()


@pytest.mark.parametrize("how", ["endless output", "endless line"])
def test_a_box_that_talks_without_end_is_no_answer_in_either_mode(box: SshdBox, turned, how: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    host = SshHost(box.address(key_path=turned(how)), QUICK)
    with pytest.raises(RemoteError):
        LockedBox(host).probe()
    with pytest.raises(RemoteError):
        AgentBox(host, root="/x", python=["python3"], allow={"engines": []}, bundle=fake_agent.build).probe()
    host.close()
    assert grown_mib(before) < 60
