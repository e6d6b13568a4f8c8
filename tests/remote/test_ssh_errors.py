"""Every exception of the SSH library has a member of the error tree, its cause kept behind it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import socket

import paramiko
import pytest

from core import errors
from core.errors import RemoteError
from core.remote.ssh_errors import COUNTERPARTS, translated


def public_exceptions() -> list[type[Exception]]:
    found = set()
    for module in pkgutil.iter_modules(paramiko.__path__):
        if module.name.startswith(("_", "win")):
            continue
        for name, value in vars(importlib.import_module(f"paramiko.{module.name}")).items():
            if inspect.isclass(value) and issubclass(value, Exception) and not name.startswith("_"):
                if value.__module__.startswith("paramiko"):
                    found.add(value)
    return sorted(found, key=lambda kind: kind.__name__)


def test_the_walk_finds_the_known_ones() -> None:
    assert {paramiko.SSHException, paramiko.SFTPError, paramiko.BadHostKeyException} <= set(public_exceptions())


@pytest.mark.parametrize("kind", public_exceptions())
def test_every_library_exception_has_its_own_counterpart(kind: type[Exception]) -> None:
    assert kind in COUNTERPARTS, f"paramiko's {kind.__name__} has no counterpart in core/remote/ssh_errors.py"
    made = COUNTERPARTS[kind](Exception("cause"), "me@box:22")
    assert isinstance(made, RemoteError)
    assert made.message.startswith("me@box:22: ")


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (socket.gaierror(-2, "Name or service not known"), errors.BoxUnreachable, "host name is not known"),
        (ConnectionRefusedError(111, "refused"), errors.BoxUnreachable, "refused the connection"),
        (ConnectionResetError(104, "reset"), errors.BoxUnreachable, "ended the connection"),
        (TimeoutError(), errors.BoxUnreachable, "no answer in time"),
        (OSError(113, "No route to host"), errors.BoxUnreachable, "No route to host"),
        (OSError("Socket is closed"), errors.BoxUnreachable, "closed"),
        (OSError("Failure"), errors.CommandFailed, "Failure"),
        (OSError(28, "No space left on device"), errors.CommandFailed, "No space left"),
        (PermissionError(13, "denied"), errors.CommandFailed, "no right"),
        (EOFError(), errors.BoxUnreachable, "ended"),
        (paramiko.SSHException("Error reading SSH protocol banner"), errors.BoxUnreachable, "no SSH greeting"),
        (paramiko.AuthenticationException("Authentication failed."), errors.AccessRefused, "did not accept"),
        (paramiko.AuthenticationException("Authentication timeout."), errors.BoxUnreachable, "sign-in"),
        (paramiko.PasswordRequiredException("x"), errors.AccessRefused, "encrypted"),
        (paramiko.ChannelException(2, "Connect failed"), errors.BoxUnreachable, "no further session"),
    ],
)
def test_faults_become_sentences(fault: Exception, kind: type[RemoteError], words: str) -> None:
    with pytest.raises(kind, match=words) as caught, translated("box"):
        raise fault
    assert caught.value.__cause__ is fault


def test_answers_and_own_errors_pass() -> None:
    for fault in (FileNotFoundError(2, "x"), errors.RemoteTimeout("x"), KeyError("x")):
        with pytest.raises(type(fault)) as caught, translated("box"):
            raise fault
        assert caught.value is fault
