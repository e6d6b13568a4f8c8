"""Looks at everything the product stands on and says what is wrong and what to do: app host, store, ledgers, boxes."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from core.domain.box import Box
from core.domain.run import FINAL, short
from core.errors import BenchError
from core.ports.upkeep import Finding
from core.services.access import authorize
from core.services.backups import NIGHTLY
from core.services.decision_chain import adopt_signed, signed_only
from core.services.house import House
from core.services.ledger_check import verify_ledger
from core.services.refetch import refetch_ledger
from core.services.start_up import unsaved

ENOUGH_BYTES = 1 << 30
SKEW_S = 5.0
OLD_CHECK, OLD_BACKUP = timedelta(days=7), timedelta(days=2)
NEEDED = ("streamlit", "duckdb", "paramiko", "pydantic", "plotly", "pandas")


def doctor(house: House, *, ask_boxes: bool, compare: bool = True) -> dict[str, Any]:
    """{ok, findings: [{about, what, todo}], facts: [{about, what}]}. `ask_boxes`: over the network; `compare`: makes the database anew."""
    authorize(house, "house.keep", "doctor")
    facts: list[dict[str, str]] = []
    findings = [*_host(house, facts), *_store(house, facts, compare=compare), *_ledgers(house, facts), *_decisions(house, facts)]
    findings += _boxes(house, facts, ask=ask_boxes)
    return {"ok": not findings, "findings": findings, "facts": facts}


def mend(house: House) -> list[dict[str, str]]:
    """Takes in decisions that a crash left signed but not stored, and fetches damaged ledgers again: [{run_id ("": a decision), what}]."""
    authorize(house, "house.keep", "mend")
    done = [{"run_id": "", "what": f"entry {number} taken from decisions.jsonl into the database"} for number in adopt_signed(house)]
    for run in house.store.runs.find(limit=100_000):
        if run["read_offset"] and house.upkeep.findings([run], record=False):
            try:
                what = f"{refetch_ledger(house, run['run_id'])} bytes fetched again"
            except BenchError as problem:
                what = f"{problem.title}: {problem.message}"
            done.append({"run_id": run["run_id"], "what": what})
    return done


def _finding(about: str, what: str, todo: str) -> Finding:
    return {"about": about, "what": what, "todo": todo}


def _moment(text: str | None) -> str:
    """A stored moment as people read it."""
    return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M} UTC" if text else "an unknown time"


def _fact(facts: list[dict[str, str]], about: str, what: str) -> None:
    facts.append({"about": about, "what": what})


def _host(house: House, facts: list[dict[str, str]]) -> list[Finding]:
    found, free = [], house.upkeep.free_bytes()
    _fact(facts, "host", f"{free / 2**30:.1f} GiB free under {house.upkeep.folder}")
    if free < ENOUGH_BYTES:
        found.append(
            _finding("host", f"Only {free / 2**20:.0f} MiB are free under {house.upkeep.folder}.", "Free space, or lower the retention.")
        )
    versions, missing = {}, []
    for name in NEEDED:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            missing.append(name)
    _fact(
        facts,
        "host",
        f"Draftledger {house.version}, Python {sys.version.split()[0]}, " + ", ".join(f"{n} {v}" for n, v in versions.items()),
    )
    if missing:
        found.append(_finding("host", f"Not installed: {', '.join(missing)}.", "Run `make run`: it installs what requirements.txt names."))
    now = house.clock.now()
    _fact(facts, "host", f"clock: {now:%Y-%m-%d %H:%M:%S} UTC")
    newest = max((run["created_at"] for run in house.store.runs.find(limit=1)), default=None)
    if newest is not None and newest - now > timedelta(minutes=5):
        found.append(
            _finding("host", f"The clock is behind: the newest run was asked for at {newest:%Y-%m-%d %H:%M} UTC.", "Set the clock.")
        )
    return found


def _store(house: House, facts: list[dict[str, str]], *, compare: bool) -> list[Finding]:
    found, held = [_finding("store", problem.message, problem.hint) for problem in unsaved(house)], house.upkeep.holder() or {}
    _fact(facts, "store", f"held by process {held.get('pid')} on {held.get('host')} since {_moment(held.get('since'))}")
    if compare:
        proof = house.upkeep.compare()
        if proof["equal"]:
            _fact(facts, "store", f"{proof['rows']} rows equal those made anew from house.jsonl and the ledgers")
        else:
            what = f"Rows differ from those made anew: {', '.join(proof['differing'])}. {' '.join(proof['faults'])}".strip()
            found.append(
                _finding("store", what, "Stop the app and run `python -m core rebuild`: it shows both and keeps what it replaces.")
            )
    nightly = [one for one in house.upkeep.backups() if one["kind"] == NIGHTLY]
    if nightly:
        newest = nightly[0]
        _fact(facts, "store", f"newest nightly backup: {_moment(newest['made'])}, {len(nightly)} kept")
        if house.clock.now() - datetime.fromisoformat(newest["made"]) > OLD_BACKUP:
            found.append(
                _finding(
                    "store",
                    f"The newest nightly backup is of {_moment(newest['made'])}.",
                    "Leave the app running, or run `python -m core backup`.",
                )
            )
        if not newest.get("proof", {"equal": True})["equal"]:
            found.append(
                _finding(
                    "store",
                    f"The backup of {_moment(newest['made'])} could not be proved from its sources.",
                    "Run `python -m core rebuild`.",
                )
            )
    else:
        _fact(facts, "store", "no nightly backup yet: the first comes after a day of the app running")
    for one in house.upkeep.mended()[-3:]:
        _fact(facts, "store", f"mended {_moment(one['at'])}: {one['what']} {' '.join(one['faults'])}".strip())
        found += [_finding("store", fault, "See docs/store.md, “A broken record”.") for fault in one["faults"]]
    return found


def _ledgers(house: House, facts: list[dict[str, str]]) -> list[Finding]:
    runs = house.store.runs.find(limit=100_000)
    found = house.upkeep.findings(runs)
    count = sum(1 for run in runs if run["read_offset"])
    _fact(facts, "ledgers", f"{len(runs)} runs, {count} ledgers, {count - sum('run r-' in one['what'] for one in found)} of them whole")
    return found


def _decisions(house: House, facts: list[dict[str, str]]) -> list[Finding]:
    found = verify_ledger(house)
    _fact(facts, "decisions", f"{found['entries']} entries, head {found['head'][:12] or 'none'}")
    if found["ok"]:
        return []
    if [entry["number"] for entry in signed_only(house)][:1] == [found["first_bad"]]:
        todo = "Run `python -m core doctor --mend`: it was signed, a crash came before its row, and it is taken in as it was signed."
    else:
        todo = "Compare with a witness: `python -m core verify-ledger --witness FILE`; then restore a backup."
    return [_finding("decisions", f"{found['why']}.", todo)]


def _boxes(house: House, facts: list[dict[str, str]], *, ask: bool) -> list[Finding]:
    boxes = house.store.boxes.all()
    with ThreadPoolExecutor(max(1, min(6, len(boxes)))) as pool:
        return [one for found in pool.map(lambda box: _box(house, facts, box, ask=ask), boxes) for one in found]


def _box(house: House, facts: list[dict[str, str]], box: Box, *, ask: bool) -> list[Finding]:
    found = []
    if box.kind == "ssh" and not box.host_key:
        found.append(_finding("boxes", f"{box.name}: no host key is pinned.", "Register the box anew and compare its fingerprint."))
    if box.jump and not box.jump_host_key:
        todo = "Open Change this box on its card, read the jump host's key and compare its fingerprint."
        found.append(_finding("boxes", f"{box.name}: no key of its jump host {box.jump} is pinned.", todo))
    if not ask:
        return found + _by_newest_check(house, facts, box)
    try:
        report, now = house.open_box(box).probe(), house.clock.now()
    except BenchError as problem:
        return [
            *found,
            _finding("boxes", f"{box.name}: {problem.title}. {problem.message}", problem.hint or "Check the box, then ask again."),
        ]
    _fact(facts, "boxes", f"{box.name}: answers, Python {report.get('python')}")
    skew = float(report.get("wall") or now.timestamp()) - now.timestamp()
    if abs(skew) > SKEW_S:
        found.append(_finding("boxes", f"{box.name}: its clock differs by {skew:+.0f} s.", "Set it: times are shown by the box's clock."))
    return found + _lock(house, box, report.get("busy"))


def _lock(house: House, box: Box, busy: dict[str, Any] | None) -> list[Finding]:
    if not busy:
        return []
    run_id = busy.get("run_id") or ""
    known = house.store.runs.get(run_id) if run_id else None
    name = short(run_id) if run_id else "a run without a name"
    if busy.get("pid") is None:
        todo = f"Run `python -m core reap --box {box.box_id}`: it ends what the dead agent left."
        return [_finding("boxes", f"{box.name}: held by {name}, whose agent is dead.", todo)]
    if known is None or known["state"] in FINAL:
        return [
            _finding("boxes", f"{box.name}: held by {name}, which is not a running one of this app.", "Wait, or ask whoever started it.")
        ]
    return []


def _by_newest_check(house: House, facts: list[dict[str, str]], box: Box) -> list[Finding]:
    check = house.store.boxes.latest_check(box.box_id)
    if check is None:
        _fact(facts, "boxes", f"{box.name}: never checked")
        return []
    _fact(facts, "boxes", f"{box.name}: checked {check['noted_at']:%Y-%m-%d %H:%M} UTC")
    if not check["ok"]:
        error = check["report"]["error"]
        return [
            _finding(
                "boxes", f"{box.name}: the newest check failed. {error['title']}. {error['message']}", error["hint"] or "Check it again."
            )
        ]
    if house.clock.now() - check["noted_at"] > OLD_CHECK:
        return [_finding("boxes", f"{box.name}: the newest check is of {check['noted_at']:%Y-%m-%d}.", "Press Check on the Boxes page.")]
    return []
