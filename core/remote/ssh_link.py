"""Opens one checked SSH connection: time limits, strong algorithms, the pinned host key compared before anything is proven to it."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import paramiko
from paramiko import Channel, Transport

from core.errors import BoxUnreachable, HostKeyChanged, InvalidInput
from core.remote.ssh_address import SshAddress, fingerprint_of, host_problems
from core.remote.ssh_errors import UnconfirmedHostKey, refused, translated, unreachable
from core.remote.ssh_keys import file_key, signers

_PROHIBITED = 1  # of RFC 4254: administratively prohibited
_WEAK = {
    "ciphers": ["aes128-cbc", "aes192-cbc", "aes256-cbc", "3des-cbc"],
    "macs": ["hmac-sha1", "hmac-md5", "hmac-sha1-96", "hmac-md5-96"],
    "kex": ["diffie-hellman-group-exchange-sha1", "diffie-hellman-group14-sha1", "diffie-hellman-group1-sha1"],
    "keys": ["ssh-rsa", "ssh-dss"],
    "pubkeys": ["ssh-rsa", "ssh-dss"],
}


@dataclass(frozen=True)
class SshLimits:
    """Seconds. A dead link is noticed after about keepalive + user_timeout: keepalives alone never notice one."""

    connect_s: float = 10.0
    banner_s: float = 10.0
    auth_s: float = 15.0
    channel_s: float = 10.0
    answer_s: float = 15.0
    keepalive_s: int = 5
    user_timeout_s: float = 15.0


DEFAULT_LIMITS = SshLimits()


def key_line_of(transport: Transport) -> str:
    """Type and base64 of the key the other side proved to hold."""
    key = transport.get_remote_server_key()
    return f"{key.get_name()} {key.get_base64()}"


def link_facts(transport: Transport) -> dict[str, Any]:
    """What both sides agreed on (see Host.link)."""
    return {
        "host_key_type": transport.host_key_type,
        "kex": getattr(transport.kex_engine, "name", None),
        "cipher": transport.remote_cipher,
        "is_strict_kex": bool(transport.agreed_on_strict_kex),
    }


class Link(Transport):
    """A connection; `through`: the one to the jump host that carries it."""

    through: Transport | None = None


def close_link(transport: Transport) -> None:
    """Ends the connection, its thread, and the one that carries it; `close()` alone leaves the socket of a handshake that failed."""
    transport.close()
    transport.sock.close()
    through = getattr(transport, "through", None)
    if through is not None:
        close_link(through)


def fetch_host_key(host: str, port: int, limits: SshLimits = DEFAULT_LIMITS, *, via: SshAddress | None = None) -> tuple[str, str]:
    """(key line, fingerprint) a box shows now, for a person to confirm. Nobody signs in there; in to the jump host, where there is one."""
    problems = host_problems(host, port)
    if problems:
        raise InvalidInput(problems)
    with translated(f"{host}:{port}"):
        transport = _handshake(host, port, None, limits, via)
        try:
            line = key_line_of(transport)
        finally:
            close_link(transport)
    return line, fingerprint_of(line)


def open_link(address: SshAddress, limits: SshLimits = DEFAULT_LIMITS) -> Link:
    """A signed-in connection. Any failure closes everything it opened."""
    own = file_key(address) if address.pin else None  # a bad key file is known without asking the box
    with translated(address.where), ExitStack() as opened:
        transport = _handshake(address.host, address.port, address.pin, limits, address.via)
        opened.callback(close_link, transport)
        _check_pin(transport, address)
        _sign_in(transport, address, own, limits)
        transport.set_keepalive(limits.keepalive_s)
        opened.pop_all()  # all went well: nothing is closed
        return transport


def _handshake(host: str, port: int, pin: str | None, limits: SshLimits, via: SshAddress | None) -> Link:
    with ExitStack() as opened:
        through = open_link(via, limits) if via is not None else None
        if through is not None:
            opened.callback(close_link, through)
        sock = _reach(host, port, limits, through)
        opened.callback(sock.close)
        transport = Link(sock, disabled_algorithms=_WEAK)
        opened.callback(transport.close)
        transport.through = through
        transport.banner_timeout = limits.banner_s
        transport.handshake_timeout = limits.banner_s
        transport.channel_timeout = limits.channel_s
        _prefer_pinned_type(transport, pin)
        transport.start_client(timeout=2 * limits.banner_s)
        transport.get_remote_server_key()  # start_client returns silently when its time is up; this one raises then
        opened.pop_all()
        return transport


def _reach(host: str, port: int, limits: SshLimits, through: Transport | None) -> socket.socket | Channel:
    """A plain socket, or a channel of the connection to the jump host, which then reaches for the box itself."""
    if through is not None:
        try:
            return through.open_channel("direct-tcpip", (host, port), ("127.0.0.1", 0), timeout=limits.connect_s)
        except paramiko.ChannelException as fault:
            cause = "does not allow it" if fault.code == _PROHIBITED else "cannot reach it"
            raise unreachable(f"{host}:{port}", f"the jump host {cause} ({fault.text}).") from fault
    with ExitStack() as opened:
        sock = opened.enter_context(socket.create_connection((host, port), timeout=limits.connect_s))
        _tune(sock, limits)
        opened.pop_all()
        return sock


def _tune(sock: socket.socket, limits: SshLimits) -> None:
    user_timeout = getattr(socket, "TCP_USER_TIMEOUT", None)
    if user_timeout is not None:
        sock.setsockopt(socket.IPPROTO_TCP, user_timeout, int(limits.user_timeout_s * 1000))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _prefer_pinned_type(transport: Transport, pin: str | None) -> None:
    """A box with several host keys shows the pinned type first; another type still arrives and is then named as changed."""
    if pin is None:
        return
    wanted = pin.split()[0]
    options = transport.get_security_options()
    first = [kind for kind in options.key_types if kind == wanted or (wanted == "ssh-rsa" and kind.startswith("rsa-"))]
    options.key_types = tuple(first + [kind for kind in options.key_types if kind not in first])


def _check_pin(transport: Transport, address: SshAddress) -> None:
    shown = key_line_of(transport)
    if address.pin is None:
        raise UnconfirmedHostKey(address.where, shown, fingerprint_of(shown))
    if shown != address.pin:
        raise HostKeyChanged(
            f"{address.where}: confirmed was {fingerprint_of(address.pin)}, the box now shows {fingerprint_of(shown)}. "
            "Nothing was sent; runs on the box are untouched.",
            hint="Find out why the key changed. Only an admin can confirm the new one.",
        )


def _sign_in(transport: Transport, address: SshAddress, own: paramiko.PKey | None, limits: SshLimits) -> None:
    transport.auth_timeout = limits.auth_s
    tried: list[str] = []
    last: Exception | None = None
    for name, key in signers(address, own):
        if tried and not transport.is_active():  # the box hung up after too many keys
            break
        tried.append(name)
        try:
            more = transport.auth_publickey(address.user, key)
        except paramiko.BadAuthenticationType:
            raise
        except paramiko.AuthenticationException as fault:
            last = fault
            if not transport.is_active() and len(tried) == 1:
                raise _ended(address, fault) from fault
            continue
        if more:
            raise refused(address.where, f"the box also asks for {', '.join(more)}, which the app cannot give.")
        return
    if not tried:
        raise refused(address.where, "the ssh-agent holds no key, or no agent runs (SSH_AUTH_SOCK).")
    hint = "Check the user name and that the key's public half is in ~/.ssh/authorized_keys there."
    raise refused(address.where, f"the box did not accept user {address.user} with {', '.join(tried)}.", hint) from last


def _ended(address: SshAddress, fault: Exception) -> BoxUnreachable:
    return unreachable(address.where, f"the connection ended during sign-in ({fault}).")
