"""The command line: `python -m core <verb> … [--db PATH] [--json]`. Thin fronts over the same calls as the pages.

Exit 0 done, 1 the answer is no, 2 bad input, 3 busy or unreachable. Verbs that need no database never open it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from typing import Any

from core.commands import REGISTERS
from core.commands.frame import EXIT_BAD_INPUT, EXIT_BUSY, EXIT_NO, Refusing, Verbs
from core.errors import BenchError, BoxBusy, InvalidInput, NotFound, OutputNotUnderstood, RemoteError, StoreError


def _parser() -> argparse.ArgumentParser:
    parser = Refusing(prog="core", description="Prices speculative-decoding changes.")
    verbs = Verbs(parser.add_subparsers(dest="verb", required=True, parser_class=Refusing))
    for register in REGISTERS:
        register(verbs)
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
