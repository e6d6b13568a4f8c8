"""Removes a run's folder on the box, and only once the app has shown that it holds the run whole."""

from __future__ import annotations

import os
import shutil
import time
from typing import Any

from core.agent import leftovers, locks
from core.agent.files import run_folder
from core.agent.journal import last_event


def forget(root: str, run_id: str, ack: str, age_s: float) -> dict[str, Any]:
    """{"answer": "forgotten" | "kept" | "unknown-run", "why"}. `ack`: "<seq>:<sha>" of the last event the app has."""
    try:
        folder = run_folder(root, run_id)
    except FileNotFoundError:
        return {"answer": "unknown-run", "why": ""}
    with locks.door(root):
        why = _reason_to_keep(folder, ack, age_s)
        if why:
            return {"answer": "kept", "why": why}
        shutil.rmtree(folder)
    return {"answer": "forgotten", "why": ""}


def _reason_to_keep(folder: str, ack: str, age_s: float) -> str:
    if leftovers.is_alive(leftovers.read_agent(folder)):
        return "its agent is alive"
    path = os.path.join(folder, "events.jsonl")
    event = last_event(path)
    if event is None:
        return "it has no ledger to compare"
    if ack != "%d:%s" % (event["seq"], event["sha"]):
        return "the app does not hold its last event"
    if time.time() - os.stat(path).st_mtime < age_s:
        return "it is younger than the retention"
    return ""
