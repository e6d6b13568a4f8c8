"""The agent's front door: one verb, one framed line of JSON as the last line of output. A refusal is an answer, not an exit code."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import sys
from typing import Any

from core.agent import gate, lifecycle
from core.agent.files import Refused

FRAME = "@@draftledger "
VERBS = ("probe", "start", "state", "cancel", "reap", "forget", "gate", "outlive", "outlived")


def main(arguments: "list[str] | None" = None) -> int:
    parser = argparse.ArgumentParser(prog="agent", description="Runs sweeps on this box.")
    parser.add_argument("--root", required=True, help="folder of runs, locks and allow.json")
    parser.add_argument("--who", default="somebody", help="who asks to stop")
    parser.add_argument("--ack", default="", help="number and hash of the last event the app holds, for forget")
    parser.add_argument("--age-s", type=float, default=0.0, help="seconds a run has to be over, for forget")
    parser.add_argument("verb", choices=VERBS)
    parser.add_argument("run_id", nargs="?", default="")
    given = parser.parse_args(arguments)
    os.umask(0o077)
    try:
        answer = _answer(os.path.abspath(os.path.expanduser(given.root)), given)
    except (Refused, OSError) as error:
        answer = {"answer": "refused", "why": str(error), "error": str(error)}
    sys.stdout.write("\n" + FRAME + json.dumps(answer, sort_keys=True) + "\n")
    sys.stdout.flush()
    return 0


def _answer(root: str, given: argparse.Namespace) -> dict[str, Any]:
    verb, run_id = given.verb, given.run_id
    os.makedirs(os.path.join(root, "runs"), mode=0o700, exist_ok=True)
    if os.stat(root).st_uid != os.geteuid():
        raise Refused("The box's folder belongs to another user.")
    if verb == "probe":
        from core.agent.probe import probe

        return probe(root, _own_sha256())
    if verb == "gate":
        gate.forget_what_was_sent(os.environ)
        signal.alarm(gate.PATIENCE_S)  # whoever opens the gate and says nothing is not waited for
        line = sys.stdin.buffer.readline(gate.MAX_REQUEST + 1)
        signal.alarm(0)
        return gate.answer(root, _own_sha256(), line)
    if verb == "start":
        return lifecycle.start(root, run_id, _own_sha256())
    if verb == "state":
        return lifecycle.state(root, run_id)
    if verb == "cancel":
        return lifecycle.cancel(root, run_id, given.who[:200])
    if verb in ("outlive", "outlived"):
        from core.agent import survival

        return survival.begin(root) if verb == "outlive" else survival.end(root)
    if verb == "forget":
        from core.agent.forget import forget

        return forget(root, run_id, given.ack, given.age_s)
    return lifecycle.reap(root)


def _own_sha256() -> str | None:
    """Hash of the packed file this runs from; None when it runs from loose files."""
    path = sys.argv[0]
    if not path.endswith(".pyz") or not os.path.isfile(path):
        return None
    with open(path, "rb") as stream:
        return hashlib.sha256(stream.read()).hexdigest()
