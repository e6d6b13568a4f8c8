"""Finds the keys a box may be entered with: one file (passphrase from the environment), the user's ssh-agent only where asked for."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import paramiko
from cryptography.exceptions import UnsupportedAlgorithm

from core.errors import AccessRefused
from core.remote.ssh_address import SshAddress
from core.remote.ssh_errors import refused

# sshd ends the connection after 6 tries; the file's key is one of them.
_AGENT_KEYS = 4


def file_key(address: SshAddress) -> paramiko.PKey | None:
    """The key of the file, None when the box has none; AccessRefused says plainly why a file cannot be used."""
    if address.key_path is None:
        return None
    path = Path(address.key_path).expanduser()
    _check_file(path, address.where)
    try:
        return paramiko.PKey.from_path(path)
    except TypeError:  # the one thing the reader says for "encrypted and no passphrase"
        return _unlocked(path, address)
    except (ValueError, UnsupportedAlgorithm, paramiko.SSHException, paramiko.UnknownKeyType) as fault:
        raise refused(address.where, f"the key file {path} holds no private key that can be read.") from fault
    except OSError as fault:
        raise _unreadable(path, address.where, fault) from fault


def _check_file(path: Path, where: str) -> None:
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    except FileNotFoundError as fault:
        raise refused(where, f"the key file {path} does not exist.", "Correct the key path in the box's registration.") from fault
    except OSError as fault:
        raise _unreadable(path, where, fault) from fault
    if mode & 0o077:
        raise refused(where, f"others can read the key file {path} (mode {mode:04o}); it is not used.", f"chmod 600 {path}")


def _unreadable(path: Path, where: str, fault: OSError) -> AccessRefused:
    return refused(where, f"the key file {path} cannot be read ({fault.strerror}).", "Let the app's user read it.")


def _unlocked(path: Path, address: SshAddress) -> paramiko.PKey:
    name = address.passphrase_env
    if name is None:
        raise refused(
            address.where,
            f"the key file {path} is encrypted and the box names no variable for its passphrase.",
            "Put the passphrase in an environment variable of the app and name that variable in the box's registration.",
        )
    secret = os.environ.get(name)
    if not secret:
        reason = f"the key file {path} is encrypted and the variable {name} is not set."
        raise refused(address.where, reason, f"Start the app with {name} set.")
    try:
        return paramiko.PKey.from_path(path, secret.encode())  # bytes: what the reader below it wants
    except (ValueError, TypeError, UnsupportedAlgorithm, paramiko.SSHException) as fault:
        raise refused(address.where, f"the passphrase in {name} does not open the key file {path}.") from fault


def signers(address: SshAddress, own: paramiko.PKey | None) -> Iterator[tuple[str, paramiko.PKey]]:
    """Keys in the order they are tried, each with the words that name it."""
    if own is not None:
        yield f"key file {address.key_path}", own
    if not address.use_agent:
        return
    with closing(paramiko.Agent()) as agent:
        for key in agent.get_keys()[:_AGENT_KEYS]:
            yield f"a key of the ssh-agent ({key.comment or key.get_name()})", key
