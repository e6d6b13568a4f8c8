"""The network's rows of the fault table over a real sshd in its own network: resets, silence, loss, slowness, a full server, absence."""

from __future__ import annotations

import gc
import os
import random
import resource
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from core.errors import AccessRefused, BoxUnreachable, HostKeyChanged, RemoteError
from core.remote import ssh_host
from core.remote.agent_box import AgentBox
from core.remote.ssh_host import SshHost
from core.remote.ssh_link import DEFAULT_LIMITS, open_link
from core.services import boxes, runs
from core.services.follow import follow_once
from tests.means import need
from tests.remote.conftest import QUICK
from tests.remote.locked import LOCKED, LOCKED_IN_SOAK, STANDARD
from tests.remote.scripted_box import ask, ends, equal_on_all_sides, events_on, house_with, wait_for
from tests.remote.sshd_box import SshdBox
from tests.remote.test_ssh_faults import in_use, nothing_left_since, settled

SLOW_RUN = {"speeds": {"0": 100, "1": 140}, "pace_s": 0.12}


@pytest.fixture(scope="module")
def far() -> Iterator[SshdBox]:
    """A box of this file's own: its network is disturbed and its key taken away."""
    need("root", "namespaces", "iptables", "tc")
    with SshdBox() as running:
        yield running


@pytest.mark.parametrize("mode", LOCKED_IN_SOAK)
def test_n01_resets_at_random_moments_lose_nothing(far: SshdBox, tmp_path, mode: str) -> None:
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    with house_with(far, tmp_path, mode=mode, **SLOW_RUN) as services:
        services.follower.start()
        run_id = ask(services.house)
        wait_for(lambda: events_on(far, run_id), "the run to begin")
        for _ in range(4):
            time.sleep(rng.uniform(0.05, 0.6))
            with far.resetting():
                time.sleep(rng.uniform(0.05, 0.4))
        assert ends(services.house, run_id)["state"] == "done", seed
        assert equal_on_all_sides(services.house, far, run_id)["run_finished"] == 1, seed


def test_n02_a_dead_link_is_noticed_and_leaves_no_thread(far: SshdBox) -> None:
    before = in_use()
    host = SshHost(far.address(), QUICK)
    assert host.run(["true"]).rc == 0
    cut = threading.Timer(0.2, far.cut)
    cut.start()
    try:
        with pytest.raises(BoxUnreachable):
            host.run(["sleep", "60"], deadline_s=40)
        host.close()
        cut.join()
        assert nothing_left_since(before)
    finally:
        far.heal()
    link = open_link(far.address())
    timeout = link.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) / 1000
    link.close()
    assert timeout + DEFAULT_LIMITS.keepalive_s <= 20, "the kernel gives a silent link up, the keepalive keeps it from being idle"


@pytest.mark.soak
def test_n02_the_real_limits_notice_within_twenty_seconds(far: SshdBox) -> None:
    host = SshHost(far.address())
    assert host.run(["true"]).rc == 0
    far.cut()
    begun = time.monotonic()
    try:
        with pytest.raises(BoxUnreachable):
            host.run(["sleep", "60"], deadline_s=60)
        assert time.monotonic() - begun < 23
    finally:
        far.heal()
        host.close()


def test_n03_a_slow_link_is_no_dead_one(far: SshdBox) -> None:
    """At this rate the file takes longer than a silent peer is given: as long as bytes move nothing is given up."""
    data = random.Random(3).randbytes(160_000)
    host = SshHost(far.address(), QUICK)
    path = f"{host.home()}/slow"
    host.put(data, path)
    with far.slow("256kbit"):
        assert host.read(path, 0, len(data)) == data
    host.close()


def test_n04_a_fifth_of_the_packets_lost_changes_no_byte(far: SshdBox) -> None:
    data = random.Random(4).randbytes(300_000)
    host = SshHost(far.address())
    path = f"{host.home()}/lossy"
    with far.losing(0.2):
        for _ in range(8):
            try:
                host.put(data, path)
                assert host.read(path, 0, len(data)) == data
                break
            except RemoteError:
                continue
        else:
            pytest.fail("no attempt came through")
    host.close()


@pytest.mark.parametrize("mode", LOCKED_IN_SOAK)
def test_n06_a_full_sshd_is_out_of_reach_for_a_moment_and_ends_no_run(tmp_path, mode: str) -> None:
    need("root", "namespaces")
    with (
        SshdBox(extra="MaxStartups 1:100:1\nLoginGraceTime 60") as full,
        house_with(full, tmp_path, mode=mode, limits=QUICK, **SLOW_RUN) as services,
    ):
        run_id = ask(services.house)
        with socket.create_connection((full.ip, full.port)) as waiting:
            assert waiting.recv(4) == b"SSH-"
            with pytest.raises(BoxUnreachable):
                follow_once(services.house, run_id)
        assert settled(lambda: answers(full)) and runs.get_run(services.house, run_id)["state"] == "preparing"
        services.follower.start()
        assert ends(services.house, run_id)["state"] == "done"
        equal_on_all_sides(services.house, full, run_id)


def answers(box: SshdBox) -> bool:
    """Whether sshd takes a connection again: it lets a closed one go a moment later."""
    host = SshHost(box.address(), QUICK)
    try:
        return host.run(["true"]).rc == 0
    except BoxUnreachable:
        return False
    finally:
        host.close()


def test_n09_after_three_refusals_the_box_is_left_alone(far: SshdBox, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    real = open_link

    def counting(*args):
        tried.append(1)
        return real(*args)

    monkeypatch.setattr(ssh_host, "open_link", counting)
    host = SshHost(far.address(), QUICK)
    far.remove_key()
    try:
        for _ in range(3):
            with pytest.raises(AccessRefused, match="did not accept"):
                host.run(["true"])
        for _ in range(20):
            with pytest.raises(AccessRefused, match="3 times in a row"):
                host.run(["true"])
        assert len(tried) == 3, "no retry storm"
    finally:
        far.accept_key()
    with pytest.raises(AccessRefused):
        host.run(["true"])
    assert host.forgive() is True and host.run(["true"]).rc == 0, "a person's own check tries at once"
    host.close()


@pytest.mark.parametrize("mode", LOCKED_IN_SOAK)
def test_n10_what_ended_while_the_app_was_away_comes_home_whole(far: SshdBox, tmp_path, mode: str) -> None:
    with house_with(far, tmp_path, mode=mode, **SLOW_RUN) as services:
        services.follower.start()
        run_id = ask(services.house)
        wait_for(lambda: any(e["kind"] == "sample" for e in services.house.store.runs.events(run_id)), "a first repetition")
    wait_for(lambda: any(e["kind"] == "run_finished" for e in events_on(far, run_id)), "the run to end on its own")
    with house_with(far, tmp_path, mode=mode, **SLOW_RUN) as services:
        assert runs.get_run(services.house, run_id)["state"] == "running"
        services.follower.start()
        assert ends(services.house, run_id)["state"] == "done"
        assert equal_on_all_sides(services.house, far, run_id)["run_started"] == 1


# Answers the first `start` late: asked by a word in standard mode, by a line of JSON at the gate.
WRAPPER = """#!/bin/sh
case " $* " in *" gate "*) asked=$(cat);; *) asked="$*";; esac
out=$(printf '%s\\n' "$asked" | python3 "$@")
case " $asked " in *" start "*|*'"start"'*) if [ ! -e ~/answered ]; then touch ~/answered; sleep 2; fi;; esac
printf '%s\\n' "$out"
"""


@pytest.mark.parametrize("mode", [STANDARD, LOCKED])
def test_n12_a_lost_answer_to_start_makes_one_run(far: SshdBox, tmp_path, mode: str) -> None:
    slow = far.home / "slow-python"
    slow.write_text(WRAPPER)
    slow.chmod(0o755)
    (far.home / "answered").unlink(missing_ok=True)
    with house_with(far, tmp_path, mode=mode, limits=QUICK, python=str(slow), **SLOW_RUN) as services:
        run_id = ask(services.house)
        cutting = threading.Thread(target=lambda: (wait_for((far.home / "answered").exists, "the start to be done"), far.cut()))
        cutting.start()
        try:
            with pytest.raises(RemoteError):
                follow_once(services.house, run_id)
            assert runs.get_run(services.house, run_id)["state"] == "preparing", "nothing is known, so nothing has ended"
        finally:
            cutting.join()
            far.heal()
        services.follower.start()
        assert ends(services.house, run_id)["state"] == "done"
        assert equal_on_all_sides(services.house, far, run_id)["run_started"] == 1


@pytest.mark.parametrize("mode", LOCKED_IN_SOAK)
def test_n13_at_another_address_the_host_key_decides(tmp_path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    need("root", "namespaces")
    real, table = socket.getaddrinfo, {}

    def looked_up(host, *args, **kwargs):
        return real(table.get(host, host), *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    with SshdBox() as moved, SshdBox() as stranger, house_with(moved, tmp_path, mode=mode, limits=QUICK, **SLOW_RUN) as services:
        house, far = services.house, services.house.box("far")
        table["gpu.example"] = moved.ip
        house.store.boxes.put(far.model_copy(update={"host": "gpu.example"}), who="Ada", at=house.clock.now())
        services.follower.start()
        run_id = ask(house)
        wait_for(lambda: house.store.runs.events(run_id), "the run to begin")
        moved.move()
        table["gpu.example"] = stranger.ip
        with pytest.raises((HostKeyChanged, BoxUnreachable)):
            for _ in range(3):
                boxes.check_box(house, "far")
        with pytest.raises(HostKeyChanged):
            boxes.check_box(house, "far")
        table["gpu.example"] = moved.ip
        assert ends(house, run_id)["state"] == "done" and runs.get_run(house, run_id)["box_id"] == "far"
        equal_on_all_sides(house, moved, run_id)


def test_b21_a_box_that_kills_at_logout_is_found_out_at_the_check(far: SshdBox, monkeypatch: pytest.MonkeyPatch) -> None:
    need("root", "namespaces")
    host = SshHost(far.address(), QUICK)
    told = AgentBox(host, root=None, python=["python3"], allow={"engines": [], "models": []})
    assert told.survives_logout() is True
    real = host.close

    def close() -> None:
        """What a login manager with KillUserProcesses does when a session is over."""
        real()
        for pid, line in far.descendants():
            if "outlive" in line:
                os.kill(pid, 9)

    monkeypatch.setattr(host, "close", close)
    assert told.survives_logout() is False
    assert not [line for _, line in far.descendants() if "outlive" in line], "nothing of the trial is left"
    real()


def reconnects(far: SshdBox, rounds: int) -> None:
    def once() -> None:
        host = SshHost(far.address())
        assert host.run(["true"]).rc == 0
        host.close()

    for _ in range(5):
        once()
    gc.collect()
    before, memory = in_use(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(rounds):
        once()
    assert nothing_left_since(before), (before, in_use())
    grown_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024
    assert grown_mib < 20, grown_mib
    print(f"{rounds} reconnects: threads and descriptors as before, largest memory grew by {grown_mib:.1f} MiB")


def test_a12_a_hundred_reconnects_keep_threads_descriptors_and_memory(far: SshdBox) -> None:
    reconnects(far, 100)


@pytest.mark.soak
def test_a12_a_thousand_reconnects(far: SshdBox) -> None:
    reconnects(far, 1000)
