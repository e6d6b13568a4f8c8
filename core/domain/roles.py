"""Who may do what: four roles, one table of actions, denied by default. Pure; the services ask it before they do anything."""

from __future__ import annotations

from dataclasses import dataclass

NONE, VIEWER, RUNNER, DECIDER, ADMIN = "none", "viewer", "runner", "decider", "admin"
LADDER = (NONE, VIEWER, RUNNER, DECIDER, ADMIN)  # each may do what the ones before may

# Action → the least role that may do it. An action that is not here may be done by nobody.
ACTIONS = {
    "see": VIEWER,  # matrix, receipts, worksheets, runs, boxes, ledger, raw logs
    "export": VIEWER,  # take a copy of what one may see out of the house
    "work.propose": RUNNER,
    "work.type": RUNNER,
    "work.comment": RUNNER,
    "run.start": RUNNER,
    "run.stop": RUNNER,
    "run.order": RUNNER,  # the order in which runs wait for a box
    "run.exclude": RUNNER,
    "box.check": RUNNER,
    "import.add": RUNNER,
    "decision.take": DECIDER,
    "box.add": ADMIN,
    "box.edit": ADMIN,
    "box.pin": ADMIN,
    "box.remove": ADMIN,
    "person.see": ADMIN,
    "person.set": ADMIN,
    "token.see": ADMIN,
    "token.make": ADMIN,
    "token.revoke": ADMIN,
    "audit.see": ADMIN,
    "house.keep": ADMIN,  # backups, restores, repairs, settings of the house
}


@dataclass(frozen=True)
class Actor:
    """Who acts. `key`: issuer and subject, or `local:<user of this computer>`, or `token:<id>`. `via`: page, api, cli or app.

    `is_named`: the identity provider vouches for `name`, so what is signed carries that name and no other.
    """

    key: str
    name: str
    role: str
    via: str
    is_named: bool = False


NOBODY = Actor(key="", name="", role=NONE, via="")
THE_APP = Actor(key="app", name="the app", role=ADMIN, via="app")


def allowed(role: str, action: str) -> bool:
    """Whether the role may do it; unknown roles and unknown actions may not."""
    if role not in LADDER or action not in ACTIONS:
        return False
    return LADDER.index(role) >= LADDER.index(ACTIONS[action])


def role_of_claims(held: object, granted: dict[str, str]) -> str:
    """The highest role that the identity provider's claim (one text or a list) is granted; `none` for unknown groups."""
    groups = held if isinstance(held, list | tuple | set) else [held]
    roles = [granted[group] for group in groups if isinstance(group, str) and granted.get(group) in LADDER]
    return max(roles, key=LADDER.index, default=NONE)
