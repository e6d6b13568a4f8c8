"""A box behind a jump host: two sshd in networks of their own, the box's own address known to the jump host alone."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Iterator

import pytest

from core.bootstrap import build
from core.config import Settings
from core.errors import AccessRefused, BoxUnreachable, HostKeyChanged, HostKeyUnknown, InvalidInput, RemoteError
from core.remote.ssh_host import SshAddress, SshHost, fetch_host_key
from core.services import box_admin, boxes, runs
from tests.means import need
from tests.remote.box_tools import do, free_pair
from tests.remote.conftest import QUICK
from tests.remote.scripted_box import ask, ends, equal_on_all_sides, events_on, install, wait_for
from tests.remote.sshd_box import SshdBox
from tests.remote.test_ssh_faults import in_use, nothing_left_since


class Hidden:
    """A box and the jump host it stands behind; `ip`: where the jump host reaches it, and nobody else."""

    def __init__(self, jump: SshdBox, box: SshdBox) -> None:
        self.jump, self.box = jump, box
        mark = secrets.token_hex(3)
        here, self.ip = free_pair()
        ends_of = ((jump.netns, f"dj{mark}a", here), (box.netns, f"dj{mark}b", self.ip))
        do("ip", "link", "add", ends_of[0][1], "netns", jump.netns, "type", "veth", "peer", "name", ends_of[1][1], "netns", box.netns)
        for network, name, address in ends_of:
            do("ip", "-n", network, "addr", "add", f"{address}/30", "dev", name)
            do("ip", "-n", network, "link", "set", name, "up")
        jump.accept_line(box.key.with_suffix(".pub").read_text())  # the app has one key file for both

    def through(self, **changes: object) -> SshAddress:
        """The jump host as the app enters it; keyword arguments replace fields."""
        return self.jump.address(**{"key_path": str(self.box.key), "is_jump": True, **changes})

    def host(self, via: SshAddress | None = None, **changes: object) -> SshHost:
        return SshHost(self.box.address(**{"host": self.ip, "via": via or self.through(), **changes}), QUICK)


@pytest.fixture(scope="module")
def hidden() -> Iterator[Hidden]:
    need("root", "namespaces", "iptables")
    with SshdBox() as jump, SshdBox() as box:
        yield Hidden(jump, box)


@pytest.fixture
def no_less(hidden: Hidden) -> Iterator[None]:
    """Whatever a test did, it left neither thread nor descriptor."""
    before = in_use()
    yield
    assert nothing_left_since(before)


@pytest.mark.usefixtures("no_less")
def test_what_works_directly_works_through_a_jump_host(hidden: Hidden) -> None:
    host, data = hidden.host(), random.Random(1).randbytes(200_000)
    assert host.run(["sh", "-c", "echo $SSH_CONNECTION"]).out.split()[2] == hidden.ip.encode()
    path = f"{host.home()}/through"
    host.put(data, path)
    assert host.read(path, 0, len(data)) == data and host.size(path) == len(data)
    assert fetch_host_key(hidden.ip, 22, QUICK, via=hidden.through())[1] == hidden.box.host_fingerprint()
    host.close()


@pytest.mark.usefixtures("no_less")
def test_both_host_keys_are_compared_before_anything_is_proven(hidden: Hidden) -> None:
    other = hidden.box.host_key_line()
    with pytest.raises(HostKeyUnknown, match="jump host"):
        hidden.host(hidden.through(pinned_key=None)).run(["true"])
    with pytest.raises(HostKeyChanged, match="jump host") as changed:
        hidden.host(hidden.through(pinned_key=other)).run(["true"])
    assert hidden.jump.host_fingerprint() in changed.value.message and hidden.box.host_fingerprint() in changed.value.message
    with pytest.raises(HostKeyChanged, match=hidden.ip):
        hidden.host(pinned_key=hidden.jump.host_key_line()).run(["true"])
    with pytest.raises(HostKeyUnknown, match=hidden.ip):
        hidden.host(pinned_key=None).run(["true"])


@pytest.mark.usefixtures("no_less")
def test_what_is_in_the_way_is_named(hidden: Hidden) -> None:
    jump = hidden.jump
    with pytest.raises(BoxUnreachable, match="the jump host cannot reach it"):
        hidden.host(port=2).run(["true"])
    with pytest.raises(BoxUnreachable, match="no SSH server listens there"):
        hidden.host(hidden.through(port=2)).run(["true"])
    line = hidden.box.key.with_suffix(".pub").read_text()
    jump.remove_key()
    try:
        with pytest.raises(AccessRefused, match=f"jump host {jump.user}@"):
            hidden.host().run(["true"])
        jump.accept_line(f"no-port-forwarding {line}")
        with pytest.raises(BoxUnreachable, match="the jump host does not allow it"):
            hidden.host().run(["true"])
    finally:
        jump.accept_key()
        jump.accept_line(line)
    hidden.host().close()


@pytest.mark.usefixtures("no_less")
def test_n11_a_silent_jump_host_is_noticed_and_the_next_call_after_it_works(hidden: Hidden) -> None:
    host = hidden.host()
    assert host.run(["true"]).rc == 0
    hidden.jump.cut()
    try:
        with pytest.raises(RemoteError):
            host.run(["sleep", "60"], deadline_s=30)
    finally:
        hidden.jump.heal()
    assert host.run(["true"]).rc == 0
    host.close()


def test_n11_a_lost_jump_host_loses_nothing(hidden: Hidden, tmp_path) -> None:
    seed = random.randrange(1 << 32)
    rng, box, jump = random.Random(seed), hidden.box, hidden.jump
    server = install(box, speeds={"0": 100, "1": 140}, pace_s=0.15)
    services = build(Settings(db=tmp_path / "t.duckdb", local_dir=tmp_path / "local", grace_s=0.5, poll_s=0.15))
    house = services.house
    values = {
        "name": "far", "host": hidden.ip, "user": box.user, "key_path": str(box.key), "engine": str(server),
        "models": str(server.parent / "made.gguf"), "jump": f"{jump.user}@{jump.ip}",
    }  # fmt: skip
    try:
        _, pin = boxes.read_jump_key(house, values)
        assert pin.fingerprint == jump.host_fingerprint()
        with pytest.raises(InvalidInput, match="has to show its key first"):
            boxes.read_host_key(house, values)
        form, line, fingerprint = boxes.read_host_key(house, values, jump=pin)
        assert fingerprint == box.host_fingerprint()
        boxes.add_box(house, form, key_line=line, fingerprint=fingerprint, who="Ada", jump=pin)
        assert box_admin.read_shown_key(house, "far", of="jump") == pin and box_admin.read_shown_key(house, "far") == (line, fingerprint)
        assert boxes.check_box(house, "far")["user"] == box.user
        services.follower.start()
        run_id = ask(house, engine_id="llama-server")
        wait_for(lambda: events_on(box, run_id), "the run to begin")
        for _ in range(3):
            time.sleep(rng.uniform(0.05, 0.5))
            jump.drop_connections()
        with jump.resetting():
            wait_for(lambda: runs.get_run(house, run_id)["unreachable_since"], "the box to be out of reach")
            there = len(events_on(box, run_id))
            wait_for(lambda: len(events_on(box, run_id)) > there, "the run to go on without us")
            assert runs.get_run(house, run_id)["state"] == "running", "out of reach ends no run"
        assert ends(house, run_id)["state"] == "done", seed
        assert equal_on_all_sides(house, box, run_id)["run_finished"] == 1, seed
        assert runs.get_run(house, run_id)["unreachable_since"] is None
    finally:
        opened = [house.open_box(one) for one in house.store.boxes.all() if one.box_id == "far"]
        services.close()
        for one in opened:
            one.close()
