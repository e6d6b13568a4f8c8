"""The command line: `python -m core <verb> … [--db PATH] [--json]`. Thin fronts over the same calls as the pages.

Exit 0 done, 1 the answer is no, 2 bad input, 3 busy or unreachable. Verbs that need no database never open it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.bootstrap import Services, build
from core.config import Settings
from core.domain.break_even import ledger_of
from core.domain.forms import Rate, Record, Share, checked
from core.domain.price import price_pair, tokens_per_step_from_share
from core.domain.run import ACTIVE, DONE, FAILED, FINAL, new_run_id
from core.errors import BenchError, BoxBusy, InvalidInput, NotFound, OutputNotUnderstood, RemoteError, StoreError
from core.services import runs
from core.services.boxes import list_boxes
from core.services.follow import follow_once
from core.services.imports import LIMIT, import_files, too_large
from core.services.matrix import matrix_rows
from core.services.reference import published_elsewhere

POLL_S = 0.5
EXIT_DONE, EXIT_NO, EXIT_BAD_INPUT, EXIT_BUSY = 0, 1, 2, 3


class PriceForm(Record):
    """What `price` takes: rates in tok/s, share 0-1, D in ms."""

    baseline_tok_s: Rate
    spec_tok_s: Rate
    n_max: int
    accept_share: Share | None = None
    d_ms: float | None = None


class Refusing(argparse.ArgumentParser):
    """Reports bad arguments in the house's form."""

    def error(self, message: str) -> Any:
        raise InvalidInput({"arguments": message}, hint=f"See: python -m core {self.prog.split()[-1]} --help")


def _price(args: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    given = {name: getattr(args, name) for name in PriceForm.model_fields if getattr(args, name) is not None}
    form = checked(PriceForm, given)
    share = form.accept_share
    try:
        a = None if share is None else tokens_per_step_from_share(form.n_max, share)
        found = price_pair(form.baseline_tok_s, form.spec_tok_s, form.n_max, a=a, d_ms=form.d_ms)
    except ValueError as error:
        raise InvalidInput({"price": f"{error}."}, hint="") from error
    return EXIT_DONE, {**found.as_json(), "ledger": ledger_of(found, form.n_max).as_json()}


def _read(args: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    from core.formats.reader import read

    try:
        with args.file.open("rb") as handle:
            companion = args.companion.read_bytes() if args.companion else None
            return EXIT_DONE, read(_chunks(handle), companion=companion, kind=args.kind).as_json()
    except OSError as error:
        raise InvalidInput({"file": f"cannot be read: {error.strerror}."}) from error


def _chunks(handle: Any) -> Iterator[bytes]:
    while part := handle.read(1 << 16):
        yield part


@contextlib.contextmanager
def _open(args: argparse.Namespace) -> Iterator[Services]:
    opened = build(Settings(db=args.db) if args.db else Settings())
    try:
        yield opened
    finally:
        opened.database.close()
        opened.jobs.close()


def _matrix(args: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    with _open(args) as services:
        rows = {"rows": matrix_rows(services.house, provenance=args.provenance, model=args.model)}
        return EXIT_DONE, {**rows, "published": published_elsewhere(services.house, model=args.model)} if args.published else rows


def _import(args: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    files = [(path.name, _content(path)) for path in args.files]
    with _open(args) as services:
        return EXIT_DONE, import_files(services.house, files, who=args.by, kind=args.kind)


def _content(path: Path) -> bytes:
    """A file's bytes; one above the limit is not read whole. Raises InvalidInput."""
    try:
        if path.stat().st_size > LIMIT:
            raise InvalidInput({path.name: too_large(path.stat().st_size)}, hint="Nothing was imported.")
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput({path.name: f"cannot be read: {error.strerror}."}, hint="Nothing was imported.") from error


def _runs(args: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    with _open(args) as services:
        shown = ("run_id", "state", "title", "box_id", "requested_by", "created_at", "ended_at", "note")
        return EXIT_DONE, {"runs": [{name: row[name] for name in shown} for row in runs.list_runs(services.house)]}


def _sweep(args: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    with _open(args) as services:
        house, run_id = services.house, new_run_id()
        _catch_up(services)
        named = [entry["box"] for entry in list_boxes(house) if args.box in (entry["box"].box_id, entry["box"].name)]
        box = named[0] if named else house.box(args.box)
        values = {
            "title": f"Sweep of {args.model}"[:200],
            "box_id": box.box_id,
            "engine_id": args.engine or box.engines[0].id,
            "model": args.model,
            "workload_id": args.workload,
            "n_max": args.n_max,
            "repetitions": args.repetitions,
            "production_c": args.concurrency,
            "order": args.order,
            "budget_min": args.budget_min,
        }
        runs.start_run(house, run_id, values, who=args.by)
        _follow_to_the_end(services, run_id, quiet=args.json)
        view = runs.show_run(house, run_id)
        run, finished = view["run"], view["finished"] or {}
        if run["problem"] and run["state"] == FAILED and not view["stages"]:
            stored = run["problem"]
            raise RunFailed(stored["message"], title=stored["title"], hint=stored["hint"])
        rows = [row for row in matrix_rows(house, provenance="measured") if row["run_id"] == run_id]
        answer = {
            "run_id": run_id,
            "state": run["state"],
            "stages": [_stage(stage) for stage in view["stages"]],
            "stop_reason": finished.get("stop") or finished.get("reason"),
            "winner": finished.get("winner"),
            "drifted": finished.get("drifted"),
            "production": finished.get("production"),
            "supports_keep": finished.get("supports_keep"),
            "noise": next((verdict["noise"] for verdict in view["verdicts"] if verdict.get("noise")), None),
            "cells": [{"n_max": column, "c": row["c"], **cell} for row in rows for column, cell in row["cells"].items() if cell["run_id"]],
        }
        return (EXIT_DONE if run["state"] == DONE else EXIT_NO), answer


def _catch_up(services: Services) -> None:
    """Takes in what runs of an earlier process left to tell, so that a box is not called busy for a run that has ended."""
    for run in services.house.store.runs.find(states=ACTIVE):
        with contextlib.suppress(RemoteError):
            follow_once(services.house, run["run_id"])


class RunFailed(BenchError):
    """The run ended before anything was measured."""

    default_title = "The run failed"


def _stage(stage: dict[str, Any]) -> dict[str, Any]:
    status = {"done": "ok", "failed": "failed"}.get(stage["state"], "not_run")
    return {"name": stage["name"], "n_max": stage["n_max"], "c": stage["c"], "tok_s": stage["tok_s"], "accept_share": stage["accept_share"],
            "accept_denominator": f"of {stage['proposed']} proposed" if stage["proposed"] else None, "status": status}  # fmt: skip


def _follow_to_the_end(services: Services, run_id: str, *, quiet: bool) -> None:
    """Follows in this process until the run is in a final state; a box out of reach is waited for."""
    said, wait = "", POLL_S
    while True:
        try:
            follow_once(services.house, run_id)
            wait = POLL_S
        except RemoteError as problem:
            wait = min(60.0, wait * 2)
            said = _say(f"{problem.title}: {problem.message} Waiting.", said, quiet)
        run = runs.get_run(services.house, run_id)
        live = services.house.live.get(run_id)
        beat = live.heartbeat if live else {}
        said = _say(f"{run['state']}: {beat.get('phase') or run['note']} {beat.get('stage') or ''}".strip(), said, quiet)
        if run["state"] in FINAL:
            return
        time.sleep(wait)


def _say(text: str, said: str, quiet: bool) -> str:
    if text != said and not quiet:
        print(text, file=sys.stderr)
    return text


def _parser() -> argparse.ArgumentParser:
    parser = Refusing(prog="core", description="Prices speculative-decoding changes.")
    verbs = parser.add_subparsers(dest="verb", required=True, parser_class=Refusing)

    def verb(name: str, work: Any, text: str, *, database: bool) -> argparse.ArgumentParser:
        one = verbs.add_parser(name, help=text, description=text)
        one.add_argument("--json", action="store_true", help="one JSON object on stdout")
        if database:
            one.add_argument("--db", type=Path, help="database file; a folder PATH.d/ stands beside it")
        one.set_defaults(work=work)
        return one

    price = verb("price", _price, "Price two decode rates.", database=False)
    price.add_argument("--baseline-tok-s", required=True, help="tok/s with speculation off")
    price.add_argument("--spec-tok-s", required=True, help="tok/s with speculation on")
    price.add_argument("--n-max", required=True, help="draft tokens per step")
    price.add_argument("--accept-share", help="accepted / proposed, 0-1; absent: bounds")
    price.add_argument("--d-ms", help="drafting cost of one step, ms")
    read = verb("read", _read, "Read what an engine or a bench tool printed.", database=False)
    read.add_argument("file", type=Path)
    read.add_argument("--companion", type=Path, help="a second file of the same run (standard error)")
    read.add_argument("--kind", help="kind of the input; detected when absent")
    matrix = verb("matrix", _matrix, "The results matrix.", database=True)
    matrix.add_argument("--provenance", help="measured, imported or transcribed")
    matrix.add_argument("--model")
    matrix.add_argument("--published", action="store_true", help="with the results published elsewhere, apart under their own key")
    take_in = verb("import", _import, "Take in what other tools printed.", database=True)
    take_in.add_argument("files", type=Path, nargs="+", metavar="FILE")
    take_in.add_argument("--as", dest="kind", metavar="KIND", help="kind of the files; detected when absent")
    take_in.add_argument("--by", default="command line", help="who takes them in")
    verb("runs", _runs, "Runs, newest first.", database=True)
    sweep = verb("sweep", _sweep, "Run a sweep to its end.", database=True)
    sweep.add_argument("--box", required=True)
    sweep.add_argument("--model", required=True)
    sweep.add_argument("--engine")
    sweep.add_argument("--n-max", default=3)
    sweep.add_argument("--repetitions", default=3)
    sweep.add_argument("--concurrency", default=1, help="production concurrency, streams")
    sweep.add_argument("--order", default="abba", help="abba, interleaved or block")
    sweep.add_argument("--budget-min", help="time budget, minutes")
    sweep.add_argument("--workload", default="chat-short")
    sweep.add_argument("--by", default="command line", help="who asks")
    return parser


def _print(answer: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(answer, default=str, allow_nan=False, ensure_ascii=False))
        return
    for key, value in answer.items():
        shown = json.dumps(value, default=str, ensure_ascii=False) if isinstance(value, dict | list) else value
        print(f"{key}: {'—?' if shown is None else shown}")


def _code_of(error: BenchError) -> int:
    if isinstance(error, InvalidInput | NotFound | OutputNotUnderstood):
        return EXIT_BAD_INPUT
    return EXIT_BUSY if isinstance(error, BoxBusy | RemoteError | StoreError) else EXIT_NO


def main(argv: list[str] | None = None) -> int:
    """Runs one verb; answers with the exit code."""
    argv = sys.argv[1:] if argv is None else argv
    as_json = "--json" in argv
    try:
        args = _parser().parse_args(argv)
        code, answer = args.work(args)
    except BenchError as error:
        if as_json:
            print(json.dumps(error.as_json(), ensure_ascii=False))
        else:
            print(f"{error.title}. {error.message} {error.hint}".strip(), file=sys.stderr)
        return _code_of(error)
    with contextlib.suppress(BrokenPipeError):  # whoever read has heard enough
        _print(answer, as_json)
    return code


if __name__ == "__main__":
    sys.exit(main())
