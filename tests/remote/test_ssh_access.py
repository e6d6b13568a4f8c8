"""Who is let in and who is not: host keys, key files, users, and what an address may hold."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import AccessRefused, HostKeyChanged, HostKeyUnknown, InvalidInput
from core.remote.ssh_address import fingerprint_of
from core.remote.ssh_host import SshAddress, SshHost, fetch_host_key
from tests.remote.sshd_box import REPO, SshdBox


def refusal(address: SshAddress) -> str:
    host = SshHost(address)
    try:
        with pytest.raises(AccessRefused) as caught:
            host.run(["true"])
    finally:
        host.close()
    assert address.where in caught.value.message
    return caught.value.message


def keygen(path: Path, *, passphrase: str = "", kind: str = "ed25519") -> Path:
    size = ["-b", "2048"] if kind == "rsa" else []
    subprocess.run(["ssh-keygen", "-q", "-a", "1", "-N", passphrase, "-t", kind, *size, "-f", str(path)], check=True)
    return path


@pytest.fixture
def changed_box(box: SshdBox) -> Iterator[tuple[SshAddress, str]]:
    before = box.address()
    box.new_host_key()
    yield before, box.host_fingerprint()


def test_the_fetched_fingerprint_is_what_ssh_keygen_prints(box: SshdBox) -> None:
    line, fingerprint = fetch_host_key(box.ip, box.port)
    assert line == box.host_key_line()
    assert fingerprint == box.host_fingerprint() == fingerprint_of(line)


def test_an_unconfirmed_box_is_never_entered(box: SshdBox) -> None:
    host = SshHost(box.address(pinned_key=None))
    with pytest.raises(HostKeyUnknown) as caught:
        host.run(["touch", f"{box.home}/entered"])
    assert caught.value.fingerprint == box.host_fingerprint()  # type: ignore[attr-defined]
    assert caught.value.key_line == box.host_key_line()  # type: ignore[attr-defined]
    assert box.host_fingerprint() in caught.value.message
    assert not (box.home / "entered").exists()


def test_what_was_fetched_can_be_pinned(box: SshdBox) -> None:
    line, _ = fetch_host_key(box.ip, box.port)
    host = SshHost(box.address(pinned_key=f"{line} confirmed by somebody"))
    assert host.run(["echo", "in"]).out == b"in\n"
    host.close()


def test_a_changed_host_key_is_refused_with_both_fingerprints(changed_box: tuple[SshAddress, str]) -> None:
    before, now = changed_box
    with pytest.raises(HostKeyChanged) as caught:
        SshHost(before).run(["true"])
    assert before.pinned_key is not None
    assert fingerprint_of(before.pinned_key) in caught.value.message
    assert now in caught.value.message


def test_a_pin_of_another_type_is_a_changed_key(box: SshdBox, tmp_path: Path) -> None:
    other = (keygen(tmp_path / "k", kind="ecdsa").with_suffix(".pub")).read_text().strip()
    with pytest.raises(HostKeyChanged):
        SshHost(box.address(pinned_key=other)).run(["true"])


def test_an_open_connection_outlives_a_new_host_key(box: SshdBox, ssh_host: SshHost) -> None:
    assert ssh_host.run(["true"]).rc == 0
    box.new_host_key()
    assert ssh_host.run(["true"]).rc == 0


def test_a_removed_key_is_refused_and_works_again_when_given_back(box: SshdBox) -> None:
    box.remove_key()
    try:
        message = refusal(box.address())
    finally:
        box.accept_key()
    assert "did not accept user" in message and str(box.key) in message
    host = SshHost(box.address())
    assert host.run(["true"]).rc == 0
    host.close()


def test_another_user_is_refused(box: SshdBox) -> None:
    assert "did not accept user root" in refusal(box.address(user="root"))


def test_a_missing_key_file_is_named(box: SshdBox, tmp_path: Path) -> None:
    assert f"{tmp_path}/none does not exist" in refusal(box.address(key_path=f"{tmp_path}/none"))


def test_a_folder_is_no_key_file(box: SshdBox, tmp_path: Path) -> None:
    assert "cannot be read" in refusal(box.address(key_path=str(tmp_path)))


def test_a_key_others_can_read_is_not_used(box: SshdBox, tmp_path: Path) -> None:
    key = Path(shutil.copy(box.key, tmp_path / "open"))
    key.chmod(0o644)
    assert "mode 0644" in refusal(box.address(key_path=str(key)))


def test_junk_is_no_key(box: SshdBox, tmp_path: Path) -> None:
    (tmp_path / "junk").touch(mode=0o600)
    assert "no private key" in refusal(box.address(key_path=str(tmp_path / "junk")))


@pytest.mark.parametrize("kind", ["ed25519", "rsa", "ecdsa"])
def test_encrypted_keys(box: SshdBox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    key = keygen(tmp_path / "k", passphrase="canary-passphrase", kind=kind)
    box.home.parent.joinpath("public", "authorized_keys").write_text(key.with_suffix(".pub").read_text())
    try:
        assert "names no variable" in refusal(box.address(key_path=str(key)))
        named = box.address(key_path=str(key), passphrase_env="DL_TEST_PASS")
        assert "DL_TEST_PASS is not set" in refusal(named)
        monkeypatch.setenv("DL_TEST_PASS", "wrong-canary")
        message = refusal(named)
        assert "DL_TEST_PASS does not open" in message and "canary" not in message
        monkeypatch.setenv("DL_TEST_PASS", "canary-passphrase")
        host = SshHost(named)
        assert host.run(["echo", "in"]).out == b"in\n"
        host.close()
    finally:
        box.accept_key()


def test_the_users_agent_is_used_only_where_asked(box: SshdBox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    socket = tmp_path / "agent"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not socket.exists():
            assert agent.poll() is None
        subprocess.run(["ssh-add", "-q", str(box.key)], env={**os.environ, "SSH_AUTH_SOCK": str(socket)}, check=True, capture_output=True)
        monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
        host = SshHost(box.address(key_path=None, use_agent=True))
        assert host.run(["true"]).rc == 0
        host.close()
        other = keygen(tmp_path / "other")
        assert "did not accept" in refusal(box.address(key_path=str(other)))
    finally:
        agent.terminate()
        agent.wait()
    monkeypatch.delenv("SSH_AUTH_SOCK")
    assert "agent" in refusal(box.address(key_path=None, use_agent=True))


def test_the_box_cannot_read_the_apps_folder(box: SshdBox, ssh_host: SshHost) -> None:
    for done in (ssh_host.run(["ls", str(REPO)]), ssh_host.run(["cat", str(REPO / "pyproject.toml")])):
        assert done.rc != 0
        assert b"Permission denied" in done.err
    assert box.run_as_user(["ls", str(REPO)]).returncode != 0


def test_the_box_cannot_read_a_closed_folder_outside_it(ssh_host: SshHost, tmp_path: Path) -> None:
    assert ssh_host.run(["ls", str(tmp_path)]).rc != 0


BAD: dict[str, list[object]] = {
    "host": ["", "-oProxyCommand=x", "a b", "a\nb", "a\0b", "héé", "x" * 300, None],
    "port": [0, -1, 65536, "22", True, None],
    "user": ["", "-l", "a b", "a\nb", "a/b", "x" * 65],
    "key_path": ["", "a\nb", "a\0b"],
    "passphrase_env": ["", "A B", "1A", "a=b"],
    "pinned_key": ["", "ssh-ed25519", "ssh-ed25519 !!!", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA\nx", "* AAAAC3NzaC1lZDI1NTE5AAAA"],
}


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in BAD.items() for value in values])
def test_bad_addresses_are_refused_by_field(field: str, value: object) -> None:
    good = {"host": "box", "port": 22, "user": "me", "key_path": "/k", "passphrase_env": None, "pinned_key": None}
    with pytest.raises(InvalidInput) as caught:
        SshAddress(**{**good, field: value})  # type: ignore[arg-type]
    assert list(caught.value.problems) == [field]


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        SshAddress("-h", 0, "-u", None)
    assert set(caught.value.problems) == {"host", "port", "user", "key_path"}
    with pytest.raises(InvalidInput):
        fetch_host_key("-h", 22)


@pytest.mark.parametrize("host", ["box", "box.example.org", "10.0.0.2", "::1", "fe80::1%eth0", "my_box"])
def test_usual_hosts_are_fine(host: str) -> None:
    assert SshAddress(host, 22, "me", "/k").where == f"me@{host}:22"
