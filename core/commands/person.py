"""`person`: gives somebody a role from the machine that holds the database, for the first admin; without a role it lists people."""

from __future__ import annotations

import argparse

from core.commands.frame import EXIT_DONE, Answer, Verbs, opened
from core.services.people import list_people, set_person


def register(verbs: Verbs) -> None:
    person = verbs.add("person", _person, "Give a person a role, or list people.", database=True)
    person.add_argument("key", nargs="?", metavar="'ISSUER SUBJECT'", help="as the identity provider names the person; absent: list")
    person.add_argument("--name", default="", help="name to show")
    person.add_argument("--role", default="viewer", help="none, viewer, runner, decider or admin")
    person.add_argument("--disabled", action="store_true", help="out at the next action, whatever the role")


def _person(args: argparse.Namespace) -> Answer:
    with opened(args) as services:
        if args.key is None:
            return EXIT_DONE, {"people": list_people(services.house)}
        values = {"key": args.key, "name": args.name, "role": args.role, "is_disabled": args.disabled}
        return EXIT_DONE, set_person(services.house, values)
