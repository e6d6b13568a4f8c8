"""`decide`: keep, reject or withdraw from the command line; and `verify-ledger`, which proves or disproves the chain."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from core.commands.frame import EXIT_DONE, EXIT_NO, Answer, Verbs, opened
from core.domain.decision import AGE_DAYS, STALE_WHEN, in_force
from core.domain.forms import plain_numbers
from core.errors import DecisionRefused, InvalidInput
from core.services.decisions import decide, draft_decision, withdraw
from core.services.house import House
from core.services.ledger_check import verify_ledger
from core.services.worksheets import get_worksheet

WITNESS_LIMIT = 64 << 20


def register(verbs: Verbs) -> None:
    take = verbs.add("decide", _decide, "Keep, reject or withdraw, with an owner and a reason.", database=True)
    take.add_argument("worksheet_id", metavar="WORKSHEET")
    take.add_argument("verdict", choices=("keep", "reject", "withdraw"))
    take.add_argument("--owner", required=True, help="who answers for it")
    take.add_argument("--on-behalf-of", default="", help="for whom the owner signs, where it is somebody else")
    take.add_argument("--reason", default="", help="one sentence; a rejection needs one")
    take.add_argument("--against-why", default="", help="why, where it goes against the computed suggestion")
    take.add_argument("--second", default="", help="a second named person")
    take.add_argument("--action", help="keep, widen, narrow, disable or not priced; as suggested when absent")
    take.add_argument("--stale-when", help=f"names separated by commas, out of: {', '.join(STALE_WHEN)}; all when absent")
    take.add_argument("--age-days", default=AGE_DAYS, help="days after which it is stale")
    take.add_argument("--seen", default="", metavar="SHA256", help="hash of the text seen with --show; refused when it has changed")
    take.add_argument("--show", action="store_true", help="print what would be signed, sign nothing")
    take.add_argument("--old", metavar="NAME", help="old production recipe, where more than speculation changed")
    take.add_argument("--old-cell", help="its cell, where it was measured here")
    take.add_argument("--old-tok-s", help="its tok/s, lowest and highest: “21.0, 22.5”")
    take.add_argument("--old-scores", help="its suite scores: “40, 44”")
    take.add_argument("--old-fit")
    take.add_argument("--old-failure-modes")
    check = verbs.add("verify-ledger", _verify, "Prove or disprove the chain of decisions.", database=True)
    check.add_argument("--witness", type=Path, help="a file that saw the chain: decisions.jsonl, spec.json, events.jsonl, a list of hashes")


def _decide(args: argparse.Namespace) -> Answer:
    with opened(args) as services:
        house = services.house
        if args.verdict == "withdraw":
            return EXIT_DONE, withdraw(house, {"number": _standing(house, args), "owner": args.owner, "reason": args.reason})
        values = _values(args)
        if args.show:
            draft = draft_decision(house, values)
            return EXIT_DONE, {"text": draft.text, "sha256": draft.sha256, "against_suggestion": draft.is_against}
        return EXIT_DONE, decide(house, values)


def _standing(house: House, args: argparse.Namespace) -> int:
    get_worksheet(house, args.worksheet_id)
    taken = in_force(house.store.decisions.all(), args.worksheet_id)
    if taken is None:
        raise DecisionRefused("No decision is in force on this worksheet. Nothing was added.", hint="See: python -m core worksheet show")
    return int(taken["number"])


def _values(args: argparse.Namespace) -> dict[str, Any]:
    given = {
        "worksheet_id": args.worksheet_id, "verdict": args.verdict, "owner": args.owner, "reason": args.reason,
        "on_behalf_of": args.on_behalf_of,
        "against_why": args.against_why, "second": args.second, "action": args.action, "age_days": args.age_days, "seen_sha256": args.seen,
    }  # fmt: skip
    if args.stale_when is not None:
        given["stale_when"] = [name.strip() for name in args.stale_when.split(",") if name.strip()]
    old = _old(args)
    return {**given, "old": old} if old else given


def _old(args: argparse.Namespace) -> dict[str, Any] | None:
    rates = plain_numbers("old_tok_s", args.old_tok_s) if args.old_tok_s else []
    found = {
        "label": args.old, "cell_id": args.old_cell, "fit": args.old_fit, "failure_modes": args.old_failure_modes,
        "tok_s_min": min(rates, default=None), "tok_s_max": max(rates, default=None),
        "scores": plain_numbers("old_scores", args.old_scores) if args.old_scores else None,
    }  # fmt: skip
    given = {name: value for name, value in found.items() if value is not None}
    return {"label": "", **given} if given else None


def _verify(args: argparse.Namespace) -> Answer:
    witness = _witness(args.witness) if args.witness else None
    with opened(args) as services:
        found = verify_ledger(services.house, witness=witness)
    return (EXIT_DONE if found["ok"] else EXIT_NO), found


def _witness(path: Path) -> str:
    try:
        if path.stat().st_size > WITNESS_LIMIT:
            raise InvalidInput({"witness": f"is larger than {WITNESS_LIMIT >> 20} MiB."}, hint="Give the lines that name the chain only.")
        return path.read_text("utf-8", errors="replace")
    except OSError as error:
        raise InvalidInput({"witness": f"cannot be read: {error.strerror}."}, hint="Nothing was checked.") from error
