"""`worksheet new|show|set|list`: the accounting table without a browser."""

from __future__ import annotations

import argparse
from typing import Any

from core.commands.frame import EXIT_DONE, Answer, Refusing, Verbs, opened, shared
from core.domain.forms import plain_numbers
from core.errors import InvalidInput
from core.services.reference_sheets import propose_from_reference
from core.services.worksheet_json import worksheet_json
from core.services.worksheets import choose_n_max, list_worksheets, new_worksheet_id, propose, type_suite, type_text

DEFAULT_BY = "command line"


def register(verbs: Verbs) -> None:
    sheet = verbs.add("worksheet", _list, "Worksheets: open, show, fill, list.", database=True)
    parts = sheet.add_subparsers(dest="part", parser_class=Refusing, metavar="new|show|set|list")

    def part(name: str, work: Any, text: str) -> argparse.ArgumentParser:
        one = parts.add_parser(name, help=text, description=text)
        shared(one, database=True, later=True)
        one.set_defaults(work=work)
        return one

    part("list", _list, "Every worksheet, newest first.")
    part("show", _show, "One worksheet.").add_argument("worksheet_id", metavar="WORKSHEET")
    _new_arguments(part("new", _new, "Open a worksheet."))
    fill = part("set", _set, "Fill in what no run can tell, or choose the candidate's n_max.")
    fill.add_argument("worksheet_id", metavar="WORKSHEET")
    fill.add_argument("field", help="suite, fit, failure_modes, n_max; any field with side note")
    fill.add_argument("side", choices=("baseline", "candidate", "note"))
    fill.add_argument("value", help="text; for suite its scores, as “50, 52”; for n_max a measured one")
    fill.add_argument("--suite", help="name of the suite")
    fill.add_argument("--band", default=10.0, help="noise of one suite run, points")
    fill.add_argument("--by", default=DEFAULT_BY, help="who types it in")


def _new_arguments(new: argparse.ArgumentParser) -> None:
    new.add_argument("--title")
    new.add_argument("--box", default="this-machine")
    new.add_argument("--engine")
    new.add_argument("--model")
    new.add_argument("--workload", default="chat-short")
    new.add_argument("--n-max", default=3)
    new.add_argument("--repetitions", default=3)
    new.add_argument("--concurrency", default=1, help="production concurrency, streams")
    new.add_argument("--reference", metavar="ROW", help="over a published reference row instead: its figures are transcribed")
    new.add_argument("--by", default=DEFAULT_BY, help="who proposes")


def _new(args: argparse.Namespace) -> Answer:
    with opened(args) as services:
        house = services.house
        if args.reference:
            return EXIT_DONE, worksheet_json(
                house, propose_from_reference(house, args.reference, who=args.by, worksheet_id=new_worksheet_id())
            )
        box = house.box(args.box)
        values = {
            "title": args.title or (f"Turn on MTP for {args.model}"[:200] if args.model else ""),
            "box_id": box.box_id,
            "engine_id": args.engine or box.engines[0].id,
            "model": args.model or "",
            "workload_id": args.workload,
            "n_max": args.n_max,
            "repetitions": args.repetitions,
            "production_c": args.concurrency,
        }
        return EXIT_DONE, worksheet_json(house, propose(house, values, who=args.by))


def _show(args: argparse.Namespace) -> Answer:
    with opened(args) as services:
        return EXIT_DONE, worksheet_json(services.house, args.worksheet_id)


def _list(args: argparse.Namespace) -> Answer:
    with opened(args) as services:
        return EXIT_DONE, {"worksheets": [_line(row) for row in list_worksheets(services.house)]}


def _line(row: dict[str, Any]) -> dict[str, Any]:
    sheet, run, decision = row["worksheet"], row["run"], row["decision"]
    return {
        "worksheet_id": sheet["worksheet_id"],
        "title": sheet["title"],
        "model": sheet["body"]["model"],
        "created_by": sheet["created_by"],
        "created_at": sheet["created_at"].isoformat(),
        "run_id": run["run_id"] if run else None,
        "run_state": run["state"] if run else None,
        "decision": decision["verdict"] if decision else None,
    }


def _set(args: argparse.Namespace) -> Answer:
    with opened(args) as services:
        house, sheet = services.house, args.worksheet_id
        if args.side != "note" and args.field == "suite":
            values = {"suite": args.suite or "", "scores": plain_numbers("value", args.value), "band": args.band}
            entry = type_suite(house, sheet, args.side, values, by=args.by)
        elif args.side != "note" and args.field == "n_max":
            if not args.value.strip().isdigit():
                raise InvalidInput({"value": "has to be a whole number."})
            choose_n_max(house, sheet, int(args.value), by=args.by)
            entry = None
        else:
            entry = type_text(house, sheet, args.field, args.side, args.value, by=args.by)
        return EXIT_DONE, {**worksheet_json(house, sheet), "set_aside": bool((entry or {}).get("is_set_aside"))}
