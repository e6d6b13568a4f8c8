"""From a proof of identity to an actor: a local link, a sign-in, an API token. This is what comes before `authorize`."""

from __future__ import annotations

import getpass
import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from core.domain.roles import ADMIN, NOBODY, NONE, VIEWER, Actor, role_of_claims
from core.services.access import record_once
from core.services.house import House

SIGN_IN_LIVES = timedelta(hours=12)
_TOKEN = re.compile(r"dl_([0-9a-f]{8})_[A-Za-z0-9_-]{43}")


def local_actor(name: str, via: str = "page") -> Actor:
    """Whoever holds this computer: an admin, under the name that was typed."""
    return Actor(key=f"local:{_own_user()}", name=name.strip(), role=ADMIN, via=via)


def _own_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def loopback_actor() -> Actor:
    """A program on this computer without a token, where there is no sign-in: it may look."""
    return Actor(key=f"local:{_own_user()}", name="a program on this computer", role=VIEWER, via="api")


def is_sign_in_over(house: House, claims: Mapping[str, Any]) -> bool:
    """Whether the sign-in is older than 12 hours or does not say how old it is."""
    issued = claims.get("iat")
    if isinstance(issued, bool) or not isinstance(issued, int | float):
        return True
    return not -60 <= house.clock.now().timestamp() - issued <= SIGN_IN_LIVES.total_seconds()


def signed_in_actor(house: House, claims: Mapping[str, Any]) -> Actor:
    """Who the identity provider says it is: known by issuer and subject, never by e-mail.

    The role is the people table's, else what the configured claim grants, else none. A person who is not known is noted with
    the role none, so that an admin finds the name. Disabled means no role, whatever else says otherwise.
    """
    issuer, subject = claims.get("iss"), claims.get("sub")
    if not (isinstance(issuer, str) and isinstance(subject, str) and issuer and subject) or is_sign_in_over(house, claims):
        return NOBODY
    key = f"{issuer} {subject}"
    name = _name_of(claims, subject)
    known = house.store.people.get(key)
    granted = role_of_claims(claims.get(house.role_claim), house.role_map) if house.role_claim else NONE
    if known is None:
        row = {"key": key, "name": name, "role": NONE, "is_disabled": False, "who": "first sign-in", "noted_at": house.clock.now()}
        house.store.people.put(row)
        known = row
    role = NONE if known["is_disabled"] else str(known["role"]) if known["role"] != NONE else granted
    return Actor(key=key, name=name, role=role, via="page", is_named=True)


def _name_of(claims: Mapping[str, Any], subject: str) -> str:
    """The name to show; an e-mail only where the provider has verified it."""
    name = claims.get("name") or (claims.get("email") if claims.get("email_verified") is True else None) or subject
    return "".join(ch for ch in str(name) if ch.isprintable()).strip()[:80] or "someone"


def token_actor(house: House, token: str) -> Actor:
    """Who calls with this token; NOBODY for one that is unknown, damaged, expired or revoked. Its use is written down."""
    match = _TOKEN.fullmatch(token)
    row = house.store.tokens.get(match.group(1)) if match else None
    offered = hashlib.sha256(token.encode()).hexdigest()
    if row is None or not hmac.compare_digest(offered, row["sha256"]) or row["revoked_at"] or row["expires_at"] <= house.clock.now():
        return NOBODY
    actor = Actor(key=f"token:{row['token_id']}", name=row["name"], role=row["role"], via="api", is_named=True)
    record_once(house.acting(actor), "token.use", row["token_id"])
    return actor
