"""Where a box is reached and with which key: checked values, and the fingerprint of a host key."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass

from core.errors import InvalidInput

_HOST = re.compile(r"[A-Za-z0-9_:][A-Za-z0-9._:%-]{0,252}")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@+\\$-]{0,63}")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_KEY_LINE = re.compile(r"[a-z0-9][a-z0-9@.-]{2,63} [A-Za-z0-9+/]{16,4096}={0,2}( [^\r\n]*)?")


def fingerprint_of(key_line: str) -> str:
    """`SHA256:…` of a public key line, spelled as ssh-keygen -l spells it."""
    digest = hashlib.sha256(base64.b64decode(key_line.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def host_problems(host: object, port: object) -> dict[str, str]:
    """What is wrong with a host name and port, by field; empty when nothing is."""
    problems = {}
    if not isinstance(host, str) or not _HOST.fullmatch(host):
        problems["host"] = "A name or address of letters, digits, dots, colons and hyphens, not starting with a hyphen."
    if isinstance(port, bool) or not isinstance(port, int) or not 1 <= port <= 65535:
        problems["port"] = "A whole number from 1 to 65535."
    return problems


def _key_line_fits(line: object) -> bool:
    if not isinstance(line, str) or not _KEY_LINE.fullmatch(line):
        return False
    try:
        base64.b64decode(line.split()[1], validate=True)
    except binascii.Error:
        return False
    return True


@dataclass(frozen=True)
class SshAddress:
    """One account on one box. `key_path` None needs `use_agent`; `pinned_key` None means: not confirmed by a person yet.

    `via`: the jump host it is reached through, an account like any other; `is_jump`: this is one.
    """

    host: str
    port: int
    user: str
    key_path: str | None
    passphrase_env: str | None = None
    pinned_key: str | None = None
    use_agent: bool = False
    via: SshAddress | None = None
    is_jump: bool = False

    def __post_init__(self) -> None:
        problems = host_problems(self.host, self.port)
        if not isinstance(self.user, str) or not _USER.fullmatch(self.user):
            problems["user"] = "A user name without spaces, not starting with a hyphen."
        if self.key_path is not None and (not self.key_path or not self.key_path.isprintable()):
            problems["key_path"] = "A file path without control characters."
        if self.key_path is None and not self.use_agent:
            problems["key_path"] = "A key file is needed unless the box uses your ssh-agent."
        if self.passphrase_env is not None and not _ENV_NAME.fullmatch(self.passphrase_env):
            problems["passphrase_env"] = "The name of an environment variable, not the passphrase itself."
        if self.pinned_key is not None and not _key_line_fits(self.pinned_key):
            problems["pinned_key"] = "A public host key: its type, a space, and base64."
        if problems:
            raise InvalidInput(problems)

    @property
    def where(self) -> str:
        """user@host:port, for sentences."""
        return f"{'jump host ' if self.is_jump else ''}{self.user}@{self.host}:{self.port}"

    @property
    def pin(self) -> str | None:
        """Type and base64 of the confirmed host key, without a comment."""
        return " ".join(self.pinned_key.split()[:2]) if self.pinned_key else None
