"""Turns what the SSH library and sockets raise into the error tree, the cause kept behind it. Nothing else translates them."""

from __future__ import annotations

import errno
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import paramiko
from paramiko import ber, buffered_pipe, hostkeys, packet, pkey, sftp, ssh_exception
from paramiko.auth_strategy import AuthFailure

from core.errors import AccessRefused, BoxUnreachable, CommandFailed, HostKeyChanged, HostKeyUnknown, RemoteError

# A broken greeting makes the library log a traceback; the person gets a sentence from here instead.
logging.getLogger("paramiko").setLevel(logging.CRITICAL)

_STILL_RUNNING = "A run that is on the box goes on by itself; the app tries again."
_NETWORK_ERRNOS = {
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
    errno.EHOSTDOWN,
    errno.ENETDOWN,
    errno.ETIMEDOUT,
    errno.EPIPE,
    errno.EBADF,
    errno.ENOTCONN,
    errno.EADDRNOTAVAIL,
}


class UnconfirmedHostKey(HostKeyUnknown):
    """First contact: carries what a person has to confirm."""

    def __init__(self, where: str, key_line: str, fingerprint: str) -> None:
        super().__init__(
            f"{where} shows the host key {fingerprint} ({key_line.split(maxsplit=1)[0]}). Nobody has confirmed it yet; nothing was sent.",
            hint="Compare it with `ssh-keygen -lf` on the box itself, then confirm it in the box's registration.",
        )
        self.key_line = key_line
        self.fingerprint = fingerprint


def unreachable(where: str, cause: str) -> BoxUnreachable:
    """No connection, and why."""
    return BoxUnreachable(f"{where}: {cause}", hint=_STILL_RUNNING)


def refused(where: str, reason: str, hint: str = "Correct the box's registration.") -> AccessRefused:
    """No entry, and why."""
    return AccessRefused(f"{where}: {reason}", hint=hint)


Maker = Callable[[Exception, str], RemoteError]


def _link_lost(fault: Exception, where: str) -> RemoteError:
    text = str(fault)
    if "protocol banner" in text or text == "No existing session":
        return unreachable(where, "the port is open, but no SSH greeting came in time.")
    if "Indecipherable protocol" in text:
        return unreachable(where, "what answers on this port is no SSH server.")
    if "Timeout opening channel" in text:
        return unreachable(where, "the connection does not answer any more.")
    return unreachable(where, f"the connection was lost or never complete ({text or type(fault).__name__}).")


def _sign_in_failed(fault: Exception, where: str) -> RemoteError:
    text = str(fault).lower()
    if "timeout" in text or "transport shut down" in text:  # the library calls a lost link a failed sign-in
        return unreachable(where, "the connection ended during sign-in.")
    return refused(
        where,
        "the box did not accept this user with this key.",
        "Check the user name and that the key's public half is in ~/.ssh/authorized_keys there.",
    )


def _key_locked(fault: Exception, where: str) -> RemoteError:
    return refused(where, "the key file is encrypted and no passphrase was given.", "Name the environment variable that holds it.")


def _no_method(fault: Exception, where: str) -> RemoteError:
    return refused(where, f"the box does not take a key for this user ({fault}).", "Allow public-key sign-in there.")


def _channel_denied(fault: Exception, where: str) -> RemoteError:
    return unreachable(where, f"the box allows no further session now ({fault}).")


def _algorithms(fault: Exception, where: str) -> RemoteError:
    return unreachable(where, f"no common algorithm that is strong enough ({fault}).")


def _key_changed(fault: Exception, where: str) -> RemoteError:
    return HostKeyChanged(f"{where}: {fault}", hint="Find out why before confirming another key.")


def _bad_key(fault: Exception, where: str) -> RemoteError:
    return refused(where, f"a key could not be read ({fault}).")


def _files_failed(fault: Exception, where: str) -> RemoteError:
    return CommandFailed(f"{where}: the file service answered out of turn ({fault}).")


def _named(cause: str) -> Maker:
    return lambda fault, where: unreachable(where, cause)


def _system(fault: Exception, where: str) -> RemoteError:
    code = getattr(fault, "errno", None)
    if code in _NETWORK_ERRNOS or str(fault) in ("Socket is closed", "File is closed"):
        return unreachable(where, f"the network says: {getattr(fault, 'strerror', None) or fault}.")
    return CommandFailed(f"{where}: a file operation failed ({fault}).", hint="Check free space and rights in the box's folder.")


COUNTERPARTS: dict[type[Exception], Maker] = {
    paramiko.SSHException: _link_lost,
    paramiko.AuthenticationException: _sign_in_failed,
    paramiko.PasswordRequiredException: _key_locked,
    paramiko.BadAuthenticationType: _no_method,
    ssh_exception.PartialAuthentication: _no_method,
    ssh_exception.UnableToAuthenticate: _sign_in_failed,
    AuthFailure: _sign_in_failed,
    paramiko.ChannelException: _channel_denied,
    paramiko.BadHostKeyException: _key_changed,
    paramiko.IncompatiblePeer: _algorithms,
    ssh_exception.MessageOrderError: _link_lost,
    paramiko.ProxyCommandFailure: _link_lost,
    paramiko.CouldNotCanonicalize: _named("the name could not be resolved."),
    paramiko.ConfigParseError: _link_lost,
    ssh_exception.NoValidConnectionsError: _named("no address of this host accepted the connection."),
    packet.NeedRekeyException: _link_lost,
    hostkeys.InvalidHostKey: _bad_key,
    pkey.UnknownKeyType: _bad_key,
    ber.BERException: _bad_key,
    sftp.SFTPError: _files_failed,
    buffered_pipe.PipeTimeout: _named("no answer in time."),
    socket.gaierror: _named("this host name is not known (name lookup failed)."),
    ConnectionRefusedError: _named("the port refused the connection: no SSH server listens there."),
    ConnectionError: _named("the other side ended the connection."),
    TimeoutError: _named("no answer in time."),
    EOFError: _named("the other side ended the connection."),
    PermissionError: lambda fault, where: CommandFailed(f"{where}: no right to use this file or folder.", hint="Check its owner and mode."),
    UnicodeError: _named("this host name cannot be looked up."),
    OSError: _system,
}


def counterpart(fault: Exception, where: str) -> RemoteError:
    """The member of the error tree for a library exception; the nearest named base class decides."""
    for kind in type(fault).__mro__:
        if kind in COUNTERPARTS:
            return COUNTERPARTS[kind](fault, where)
    raise TypeError(f"no counterpart for {type(fault).__name__}") from fault


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Library and socket errors inside become RemoteErrors; FileNotFoundError passes, it is an answer."""
    try:
        yield
    except FileNotFoundError:
        raise
    except tuple(COUNTERPARTS) as fault:
        raise counterpart(fault, where) from fault
