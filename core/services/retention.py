"""Removes what the settings let go: a run's copy on its box, raw engine logs here. Rows, ledgers and readings stay for good."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from core.domain.run import FINAL
from core.errors import RemoteError
from core.services.access import authorize
from core.services.house import House
from core.services.readings import reading_of_run_log


def keep_to_retention(house: House) -> dict[str, int]:
    """One round: {box_copies, raw_logs} removed. A box out of reach is asked again next time. Raises StoreError."""
    authorize(house, "house.keep")
    done = {"box_copies": 0, "raw_logs": 0}
    gone = {(row["run_id"], row["what"], row["name"]) for row in house.store.runs.retired()}
    silent: set[str] = set()
    for run in house.store.runs.find(states=FINAL, limit=100_000):
        if _is_older(house, run, house.keep_box_days) and (run["run_id"], "box copy", "") not in gone and run["box_id"] not in silent:
            try:
                done["box_copies"] += _forget(house, run)
            except RemoteError:
                silent.add(run["box_id"])
        if house.keep_raw_days is not None and _is_older(house, run, house.keep_raw_days):
            done["raw_logs"] += _drop_logs(house, run["run_id"], gone)
    return done


def _is_older(house: House, run: dict[str, Any], days: int) -> bool:
    return run["ended_at"] is not None and house.clock.now() - run["ended_at"] > timedelta(days=days)


def _forget(house: House, run: dict[str, Any]) -> bool:
    """Has the box remove its copy; the box compares the last event itself and keeps what we do not hold."""
    known = {box.box_id: box for box in house.store.boxes.all()}
    if run["box_id"] not in known or not run["last_seq"]:
        return False
    box = house.open_box(known[run["box_id"]])
    answer = box.forget(run["run_id"], seq=run["last_seq"], sha=run["last_sha"], age_s=86_400.0 * house.keep_box_days)
    if answer["answer"] not in ("forgotten", "unknown-run"):
        return False
    _note(house, run["run_id"], "box copy", "", house.keep_box_days)
    return bool(answer["answer"] == "forgotten")


def _drop_logs(house: House, run_id: str, gone: set[tuple[str, str, str]]) -> int:
    """Each log is read once more, so that its reading is kept, then removed."""
    dropped = 0
    for row in house.store.runs.raw_files(run_id):
        if (run_id, "raw log", row["name"]) not in gone:
            reading_of_run_log(house, run_id, row["name"])
            _note(house, run_id, "raw log", row["name"], house.keep_raw_days or 0)
            dropped += house.archive.drop(row["stored_as"])
    return dropped


def _note(house: House, run_id: str, what: str, name: str, days: int) -> None:
    house.store.runs.retire({"run_id": run_id, "what": what, "name": name, "days": days, "noted_at": house.clock.now()})
