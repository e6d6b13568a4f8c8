"""The one question at the top of every service call: may this actor do this to that? A refusal goes to the audit log."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from core.domain.roles import ACTIONS, NONE, Actor, allowed
from core.domain.secret_words import redacted, redacted_all
from core.errors import NotAllowed
from core.services.house import House

QUIET_S = 60.0  # the same refusal is written down once in this time: a page that looks again each second must not flood the log
_REMEMBERED = 2000


def authorize(house: House, action: str, thing: str = "", *, signed: str | None = None) -> None:
    """Lets the call go on, or raises NotAllowed. `thing`: what it is about, for the log.

    `signed`: the name under which it would be written down; where an identity provider vouches for the actor, only the actor's own.
    """
    actor = _as_of_now(house)
    if not allowed(actor.role, action):
        _note_refusal(house, action, thing)
        raise NotAllowed(_sentence(actor, action), hint=_hint(actor))
    if signed is not None and actor.is_named and signed.strip() not in ("", actor.name):
        _note_refusal(house, action, thing)
        raise NotAllowed(f"You are signed in as {actor.name}; nothing is written under another name.", hint="Leave the name as it is.")


def _as_of_now(house: House) -> Actor:
    """The actor, without a role when an admin disabled the person since the page was drawn."""
    actor = house.actor
    if not (actor.is_named and actor.via == "page"):
        return actor
    known = house.store.people.get(actor.key)
    return replace(actor, role=NONE) if known and known["is_disabled"] else actor


def record(house: House, action: str, thing: str = "", **detail: Any) -> None:
    """Writes down that the actor did it."""
    _append(house, action, thing, "done", detail)


def record_once(house: House, action: str, thing: str, **detail: Any) -> None:
    """The same for what happens again and again (a token in use): once in `QUIET_S`."""
    if _is_new(house, action, thing):
        record(house, action, thing, **detail)


def _sentence(actor: Actor, action: str) -> str:
    needs = ACTIONS.get(action, "nobody")
    if actor.role == NONE:
        return f"{actor.name or 'Who asks'} has no access here; this needs the role {needs}. Nothing was changed."
    return f"Your role is {actor.role}; this needs the role {needs}. Nothing was changed."


def _hint(actor: Actor) -> str:
    if actor.via == "api":
        return "Use a token with that role (menu: Tokens)."
    return "An admin can give it to you (menu: People)."


def _note_refusal(house: House, action: str, thing: str) -> None:
    if _is_new(house, action, thing):
        _append(house, action, thing, "denied", {"role": house.actor.role})


def _is_new(house: House, action: str, thing: str) -> bool:
    now, key = time.monotonic(), (house.actor.key, house.actor.via, action, thing)
    last = house.noted.get(key)
    if last is not None and now - last < QUIET_S:
        return False
    if len(house.noted) >= _REMEMBERED:
        house.noted.clear()
    house.noted[key] = now
    return True


def _append(house: House, action: str, thing: str, outcome: str, detail: dict[str, Any]) -> None:
    actor = house.actor
    house.store.audit.append(
        {
            "noted_at": house.clock.now().isoformat(),
            "actor": actor.key[:600],
            "name": redacted(actor.name[:200]),
            "via": actor.via,
            "action": action,
            "object": redacted(thing[:500]),
            "outcome": outcome,
            "detail": redacted_all(detail),
        }
    )
