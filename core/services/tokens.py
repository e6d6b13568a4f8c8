"""API tokens: shown once when made, kept as a hash, with a role and an end. For admins."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import Any

from core.domain.forms import checked
from core.domain.people import TokenForm
from core.errors import NotFound
from core.services.access import authorize, record
from core.services.house import House


def list_tokens(house: House) -> list[dict[str, Any]]:
    """Tokens, newest first, with `state`: valid, expired or revoked. Never their secret."""
    authorize(house, "token.see")
    now = house.clock.now()
    return [
        {
            **{key: value for key, value in row.items() if key != "sha256"},
            "state": "revoked" if row["revoked_at"] else "expired" if row["expires_at"] <= now else "valid",
        }
        for row in house.store.tokens.all()
    ]


def make_token(house: House, values: dict[str, Any]) -> str:
    """A new token; this is the only time it can be read. Raises InvalidInput."""
    authorize(house, "token.make")
    form = checked(TokenForm, values)
    token_id, now = secrets.token_hex(4), house.clock.now()
    token = f"dl_{token_id}_{secrets.token_urlsafe(32)}"
    expires = now + timedelta(days=form.days)
    house.store.tokens.add(
        {
            "token_id": token_id,
            "name": form.name,
            "role": form.role,
            "sha256": hashlib.sha256(token.encode()).hexdigest(),
            "made_by": house.actor.name or house.actor.key,
            "made_at": now,
            "expires_at": expires,
        }
    )
    record(house, "token.make", token_id, name=form.name, role=form.role, expires_at=expires.isoformat())
    return token


def revoke_token(house: House, token_id: str) -> None:
    """Ends a token at once; a second time changes nothing. Raises NotFound."""
    authorize(house, "token.revoke", token_id)
    if house.store.tokens.get(token_id) is None:
        raise NotFound("token", token_id, [row["token_id"] for row in house.store.tokens.all()])
    house.store.tokens.end(token_id, who=house.actor.name or house.actor.key, at=house.clock.now())
    record(house, "token.revoke", token_id)
