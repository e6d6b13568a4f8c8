"""The door of a house without sign-in: a link with a one-time token opens it, a signed cookie keeps it open for twelve hours."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading

from itsdangerous import BadSignature, TimestampSigner

OPEN_S = 12 * 3600
LEAST_TOKEN = 32  # characters


class LocalDoor:
    """One per process. `fixed`: a token that a setting names, good any number of times; else each token opens once and the next is made.

    `is_open`: the setting that leaves the token out, for a computer that nobody else uses.
    """

    def __init__(self, key: bytes, *, fixed: str = "", is_open: bool = False) -> None:
        self._signer = TimestampSigner(key, salt="draftledger-local-door", digest_method=hashlib.sha256)
        self._fixed = fixed
        self._next = fixed or secrets.token_urlsafe(32)
        self._turn = threading.Lock()
        self.is_open = is_open
        self._names: dict[str, str] = {}
        self.cookie_name = f"draftledger_{hashlib.sha256(key).hexdigest()[:8]}"  # apps on other ports share the host's cookies

    @property
    def token(self) -> str:
        """The token that opens next."""
        return self._next

    def enter(self, token: str) -> str | None:
        """The cookie's value where the token is right, else None. A one-time token is used up by this."""
        with self._turn:
            if not hmac.compare_digest(token.encode(), self._next.encode()):
                return None
            if not self._fixed:
                self._next = secrets.token_urlsafe(32)
        return self._signer.sign(secrets.token_hex(16)).decode()

    def remember(self, cookie: str, name: str) -> None:
        """The name given in this browser, so that a reload or another tab need not ask again. Kept in memory, of open cookies only."""
        if not self.is_open and self.holds(cookie):
            self._names[cookie] = name

    def name_of(self, cookie: str) -> str:
        """The name given last in this browser; "" where none was, and where the door is open to everybody."""
        return self._names.get(cookie, "") if not self.is_open and self.holds(cookie) else ""

    def holds(self, cookie: str) -> bool:
        """Whether this cookie was given out by this house, less than twelve hours ago."""
        if self.is_open:
            return True
        try:
            self._signer.unsign(cookie.encode("utf-8", "replace"), max_age=OPEN_S)
        except BadSignature:
            return False
        return True
