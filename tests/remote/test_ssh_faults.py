"""What the network and a busy sshd do to a host: every fault becomes a named state, nothing is left behind, the next call works."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.errors import BoxUnreachable, RemoteError, RemoteTimeout
from core.remote.ssh_host import SshAddress, SshHost, fetch_host_key
from tests.remote.conftest import QUICK
from tests.remote.sshd_box import SshdBox


def in_use() -> tuple[set[int | None], int]:
    """Threads and open sockets of this process."""
    sockets = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            sockets += os.readlink(f"/proc/self/fd/{name}").startswith("socket:")
        except OSError:
            continue
    return {thread.ident for thread in threading.enumerate()}, sockets


def nothing_left_since(before: tuple[set[int | None], int]) -> bool:
    def same() -> bool:
        threads, sockets = in_use()
        return threads <= before[0] and sockets <= before[1]

    return settled(same)


def settled(wanted: Callable[[], bool]) -> bool:
    for _ in range(1500):
        if wanted():
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def address_of(server: socket.socket, box: SshdBox) -> SshAddress:
    return box.address(host="127.0.0.1", port=server.getsockname()[1])


def cause(address: SshAddress) -> str:
    host = SshHost(address, QUICK)
    with pytest.raises(BoxUnreachable) as caught:
        host.run(["true"])
    host.close()
    return caught.value.message


def test_a_refused_port_is_named(listener: socket.socket, box: SshdBox) -> None:
    address = address_of(listener, box)
    listener.close()
    assert "refused the connection" in cause(address)
    with pytest.raises(BoxUnreachable, match="refused the connection"):
        fetch_host_key("127.0.0.1", address.port)


def test_a_silent_peer_is_named(listener: socket.socket, box: SshdBox) -> None:
    assert "no SSH greeting" in cause(address_of(listener, box))


def test_a_peer_that_is_no_ssh_server_is_named(listener: socket.socket, box: SshdBox, capsys: pytest.CaptureFixture[str]) -> None:
    def answer() -> None:
        peer, _ = listener.accept()
        with peer:
            peer.sendall(b"HTTP/1.1 400 Bad Request\r\nA: b\r\n" * 200)
            peer.recv(1000)

    thread = threading.Thread(target=answer)
    thread.start()
    assert "is no SSH server" in cause(address_of(listener, box))
    thread.join()
    assert "Traceback" not in capsys.readouterr().err


def test_an_unknown_name_is_named(box: SshdBox, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object, **kwargs: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert "host name is not known" in cause(box.address(host="no-such-box.invalid"))


def test_an_address_that_never_answers_is_named(box: SshdBox) -> None:
    box.cut()
    try:
        message = cause(box.address())
    finally:
        box.heal()
    assert "no answer in time" in message or "No route to host" in message


def test_a_cut_link_during_a_command_and_the_next_call_after_healing(box: SshdBox, quick_host: SshHost) -> None:
    assert quick_host.run(["true"]).rc == 0
    threading.Timer(0.3, box.cut).start()
    try:
        with pytest.raises(BoxUnreachable, match="lost"):
            quick_host.run(["sleep", "60"], deadline_s=30)
        with pytest.raises(RemoteError):
            quick_host.size("/etc/passwd")
    finally:
        box.heal()
    assert quick_host.run(["echo", "back"]).out == b"back\n"
    assert quick_host.size("/etc/passwd")


def test_a_short_cut_ends_only_the_call_that_ran_out_of_time(box: SshdBox, quick_host: SshHost) -> None:
    assert quick_host.run(["true"]).rc == 0
    threading.Timer(0.1, box.cut).start()
    try:
        with pytest.raises(RemoteTimeout):
            quick_host.run(["sleep", "60"], deadline_s=0.5)
    finally:
        box.heal()
    assert quick_host.run(["echo", "same"]).out == b"same\n"


def test_a_connection_killed_on_the_box_breaks_the_call_and_the_next_one_works(box: SshdBox, ssh_host: SshHost) -> None:
    assert ssh_host.size("/etc/passwd")
    threading.Timer(0.3, box.drop_connections).start()
    with pytest.raises(BoxUnreachable):
        ssh_host.run(["sleep", "60"])
    assert ssh_host.run(["true"]).rc == 0
    assert ssh_host.size("/etc/passwd")


def test_a_file_transfer_that_breaks_leaves_the_old_file(box: SshdBox, ssh_host: SshHost) -> None:
    path = f"{ssh_host.home()}/whole"
    ssh_host.put(b"old", path)
    threading.Timer(0.02, box.drop_connections).start()
    with pytest.raises(BoxUnreachable):
        for _ in range(50):
            ssh_host.put(b"n" * 20_000_000, path)
            ssh_host.put(b"old", path)
    assert ssh_host.size(path) in (3, 20_000_000)


def test_eight_threads_share_one_connection(box: SshdBox, ssh_host: SshHost) -> None:
    home = ssh_host.home()

    def work(number: int) -> bool:
        path = f"{home}/t{number}"
        for turn in range(6):
            data = f"{number}-{turn}".encode() * 1000
            ssh_host.put(data, path)
            if ssh_host.read(path, 0, 1 << 20) != data or ssh_host.run(["cat", path]).out != data or ssh_host.size(path) != len(data):
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
    assert len([line for _, line in box.descendants() if "[priv]" in line]) == 1


def test_more_callers_than_sessions_wait_their_turn(ssh_host: SshHost) -> None:
    with ThreadPoolExecutor(16) as pool:
        codes = list(pool.map(lambda number: ssh_host.run(["sh", "-c", f"sleep 0.1; exit {number}"]).rc, range(16)))
    assert codes == list(range(16))


def test_a_box_that_allows_one_session_is_usable() -> None:
    with SshdBox(extra="MaxSessions 1") as narrow:
        host = SshHost(narrow.address())
        path = f"{host.home()}/file"
        for turn in range(3):
            host.put(f"{turn}".encode(), path)
            assert host.run(["cat", path]).out == f"{turn}".encode()
        host.close()


def test_failed_connections_leave_no_thread_and_no_socket(box: SshdBox, listener: socket.socket) -> None:
    listener.listen(50)
    line, _ = fetch_host_key(box.ip, box.port)
    before = in_use()
    wrong_pin = f"{line.split()[0]} {line.split()[1][:-4]}AAAA"
    for address in (box.address(user="nobody"), box.address(pinned_key=None), box.address(pinned_key=wrong_pin), box.address(port=1)):
        for _ in range(6):
            with pytest.raises(RemoteError):
                SshHost(address).run(["true"])
    with pytest.raises(BoxUnreachable):
        SshHost(address_of(listener, box), QUICK).run(["true"])
    assert nothing_left_since(before), (before, in_use())
    host = SshHost(box.address())
    assert host.run(["true"]).rc == 0
    host.close()
    assert nothing_left_since(before), (before, in_use())


def test_closing_ends_every_session_on_the_box(box: SshdBox) -> None:
    host = SshHost(box.address())
    assert host.size("/etc/passwd")
    host.close()
    assert settled(lambda: not [line for _, line in box.descendants() if line.startswith("sshd")])
