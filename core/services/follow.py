"""Follows runs: hands them to their box, takes in what the box writes, notices the end. Knows no screen; safe to stop at any moment.

"I cannot reach it" never ends a run: only the box itself says that a run is over or that its agent is gone.
"""

from __future__ import annotations

import contextlib
import json
import time
from typing import Any

from core.domain.arms import cancelled
from core.domain.box import THIS_MACHINE
from core.domain.event_forms import check_events
from core.domain.event_lines import read_page, shortfall
from core.domain.run import CANCELLED, DONE, FAILED, FINAL, LOST, PREPARING, QUEUED, RUNNING, SweepRequest
from core.errors import BenchError, OutputNotUnderstood, PreflightRefused, RemoteError, StoreError
from core.ports.bench_box import BenchBox
from core.services import boxes
from core.services.access import authorize
from core.services.event_bytes import read_lines
from core.services.house import House, Live
from core.services.ingest import Context, batch_of
from core.services.lease import Lease, take_lease
from core.services.queue import take_turn, wait_for_stranger
from core.services.refetch import refetch_ledger
from core.services.run_logs import keep_logs, load_logs
from core.services.specs import spec_of

TAIL = 4096
STILL_S = 4.0  # a heartbeat comes each second; after this long without one the box is asked
_CLEARING = "the app"  # who asks a box to clear up after a dead agent
_AGAIN = "Resume or repeat it on its page when the box is ready."
_KEPT = "What was measured before is kept; nothing is run again by itself."
_REBOOTED = "The box restarted", f"Interrupted: the box was restarted while the run was on it. {_KEPT}"
_GONE = "The agent is gone", f"The agent on the box is gone without finishing; the box was not restarted, so it was killed. {_KEPT}"
_OUTCOMES = {"done": DONE, "cancelled": CANCELLED, "failed": FAILED}


def follow_once(house: House, run_id: str) -> bool:
    """One look at one run: submits, stops, takes in events. True when something new came. Raises RemoteError when out of reach."""
    authorize(house, "run.start", run_id)
    run = house.store.runs.get(run_id)
    if run is None or run["state"] in FINAL:
        return False
    if run["state"] == QUEUED and not take_turn(house, run):
        return False
    try:
        box = house.open_box(house.box(run["box_id"]))
        if run["state"] in (QUEUED, PREPARING) or run["spec"] is None:
            if run["cancel_at"]:
                end_run(house, run_id, CANCELLED, f"Stopped by {run['cancel_by']} before it started.")
                return True
            _submit(house, run, box)
            return True
        if run["cancel_at"]:
            _carry_cancel(house, run, box)
        fresh = _take_in(house, run, box)
        _look_live(house, run_id, box)
        _reached(house, run_id)
        return fresh or _notice_end_without_word(house, run_id, box)
    except (RemoteError, StoreError, OSError):
        raise  # nothing is known about the run: the next look goes on where this one was cut off
    except OutputNotUnderstood as problem:
        _quarantine(house, run, problem)
        return True
    except BenchError as problem:
        end_run(house, run_id, FAILED, problem.message, problem)
        return True


def _quarantine(house: House, run: dict[str, Any], problem: OutputNotUnderstood) -> None:
    """A gap or a changed line: nothing after it counts, so the box is asked to stop. Out of reach, its lifetime ends it."""
    note = f"Quarantined: {problem.message} What came before is kept; nothing after it is taken in, and the box was asked to stop."
    with contextlib.suppress(RemoteError, PreflightRefused):
        house.open_box(house.box(run["box_id"])).cancel(run["run_id"], _CLEARING)
    end_run(house, run["run_id"], FAILED, note, problem)


def _carry_cancel(house: House, run: dict[str, Any], box: BenchBox) -> None:
    """Takes the wish to stop to the box; once it was taken, the run's own last event tells when it is over."""
    live = house.live.setdefault(run["run_id"], Live(moved_at=time.monotonic()))
    if not live.cancel_carried:
        answer = box.cancel(run["run_id"], run["cancel_by"].lstrip("- ") or "someone")
        live.cancel_carried = answer.get("answer") != "refused"  # a box whose disk is full, for example: asked again at the next look


def _reached(house: House, run_id: str) -> None:
    run = house.store.runs.get(run_id)
    if run and run["state"] not in FINAL:
        house.store.runs.set_state(run_id, reached_at=house.clock.now(), unreachable_since=None, problem=None)


def _submit(house: House, run: dict[str, Any], box: BenchBox) -> None:
    run_id, request = run["run_id"], SweepRequest(**run["request"])
    if run["box_id"] == THIS_MACHINE and request.model in house.made_models:
        house.make_model(
            request.model, lambda share, what: house.store.runs.set_state(run_id, note=f"Making {request.model}: {what} {share:.0%}")
        )
    spec = run["spec"] or _spec(house, run, request)
    house.store.runs.set_spec(run_id, spec, house.clock.now())
    answer = box.submit(run_id, spec)
    if answer["answer"] == "busy":
        wait_for_stranger(house, run, answer.get("by", ""))
        return
    if answer["answer"] not in ("started", "already"):
        raise PreflightRefused(f"The box refused the run: {answer.get('why', 'no reason given')}", hint="Mend it, then run again.")
    now = house.store.runs.get(run_id)
    state = RUNNING if now and now["state"] in (QUEUED, PREPARING) else (now or run)["state"]
    house.store.runs.set_state(run_id, state=state, note="Handed to the box.", reached_at=house.clock.now())


def _spec(house: House, run: dict[str, Any], request: SweepRequest) -> dict[str, Any]:
    """The complete spec, from what the box has right now."""
    run_id = run["run_id"]
    house.store.runs.set_state(run_id, note="Asking the box what it has.")
    report = boxes.check_box(house, run["box_id"])
    decisions = house.store.decisions.chain()
    spec = spec_of(
        run_id=run_id,
        request=request,
        box=house.box(run["box_id"]),
        workload=house.workload(request.workload_id),
        report=report,
        who=run["requested_by"],
        head=decisions[-1]["sha"] if decisions else "",
        grace_s=house.grace_s,
    )
    return {**spec, "audit_head": house.store.audit.head()[1]}  # the box keeps a dated copy of both heads


def _take_in(house: House, run: dict[str, Any], box: BenchBox, *, closes: bool = True) -> bool:
    """Reads events until the box has no complete line left, unless another worker is at it. True when something came.

    `closes`: the run's last event ends the run here too.
    """
    run_id = run["run_id"]
    ended = house.store.runs.events(run_id, kinds=("run_finished",)) if closes else []
    is_short = house.archive.ledger_size(run_id) < run["read_offset"]
    data = b"" if ended else read_lines(box, run_id, run["read_offset"])
    if not ended and not is_short and not data:
        return False
    lease = take_lease(house, run_id)
    if lease is None:
        return False
    with lease:
        if ended:  # taken in before, and cut off before the run was closed here
            _finish(house, run_id, box, ended[-1]["body"])
            return True
        if is_short:
            refetch_ledger(house, run_id)  # the folder was restored from an older copy
        now = house.store.runs.get(run_id) or run
        if now["read_offset"] != run["read_offset"]:  # another worker was here between
            data = read_lines(box, run_id, now["read_offset"])
        return _take_in_pages(house, now, box, lease, data, closes)


def _take_in_pages(house: House, run: dict[str, Any], box: BenchBox, lease: Lease, data: bytes, closes: bool) -> bool:
    """Everything of a page is one transaction, its offset included; it is written only while the lease is this worker's."""
    run_id, came = run["run_id"], False
    seen = house.store.runs.events(run_id, kinds=("preflight", "server_starting"))
    context = Context(run["spec"], seen, house.store.cells.servers(run_id, purpose=None))
    offset, seq, sha = run["read_offset"], run["last_seq"], run["last_sha"]
    while data:
        page = read_page(data, last_seq=seq, last_sha=sha)
        if not page.consumed:
            break
        check_events(page.events)
        batch = batch_of(page, context, run_id=run_id, offset=offset, logs=load_logs(box, run_id, page))
        batch.lease = lease.token
        if not lease.prolong():
            break
        house.archive.append_events(run_id, offset, data[: page.consumed])
        if not house.store.runs.ingest(batch):
            break
        offset, seq, sha, came = batch.offset, batch.last_seq, batch.last_sha, True
        end = next((event for event in page.events if event["kind"] == "run_finished"), None)
        if end and closes:
            _finish(house, run_id, box, end)
        data = b"" if end else read_lines(box, run_id, offset)
    return came


def _finish(house: House, run_id: str, box: BenchBox, end: dict[str, Any]) -> None:
    """Brings the raw logs home, then closes the run: in this order, so that a cut in between is mended by the next look."""
    keep_logs(house, run_id, box)
    reason = end.get("reason") or {}
    if end["outcome"] == "cancelled" and str(reason.get("text")).startswith(cancelled(_CLEARING).text):
        why = _GONE[1]  # the app had asked the box to clear up after a dead agent, and was cut off there
        end_run(house, run_id, LOST, why, BenchError(why, title=_GONE[0], hint=_AGAIN))
        return
    short = _shortfall(house, run_id, end)
    if short:
        end_run(house, run_id, FAILED, f"Incomplete: {short}.", OutputNotUnderstood(f"{short.capitalize()}. {_KEPT}", title="Not complete"))
        house.live.pop(run_id, None)
        return
    problem = None
    if end["outcome"] == "failed":
        problem = {
            "title": "The run failed",
            "message": reason.get("text", ""),
            "hint": "What was measured before is kept. See the log below.",
        }
    house.store.runs.set_state(
        run_id, state=_OUTCOMES.get(end["outcome"], FAILED), note=reason.get("text", ""), problem=problem, ended_at=house.clock.now()
    )
    house.live.pop(run_id, None)


def _shortfall(house: House, run_id: str, end: dict[str, Any]) -> str:
    run = house.store.runs.get(run_id)
    return shortfall(end, events=run["last_seq"] if run else 0, samples=len(house.store.runs.events(run_id, kinds=("sample",))))


def _look_live(house: House, run_id: str, box: BenchBox) -> None:
    """Heartbeat and log tail for the run page, read as files: asking the agent would cost the box a process at each look."""
    run = house.store.runs.get(run_id)
    if run is None or run["state"] in FINAL:
        return
    live = house.live.setdefault(run_id, Live(moved_at=time.monotonic()))
    beat = _heartbeat(box, run_id)
    if beat.get("counter") != live.heartbeat.get("counter"):
        live.moved_at = time.monotonic()
    live.heartbeat = beat
    starts = house.store.runs.events(run_id, kinds=("server_starting",))
    if starts:
        live.log_name = f"server-{starts[-1]['body']['server']}.log"
        size = box.log_size(run_id, live.log_name) or 0
        live.log_tail = box.read_log(run_id, live.log_name, max(0, size - TAIL), TAIL).decode("utf-8", "replace")


def _heartbeat(box: BenchBox, run_id: str) -> dict[str, Any]:
    if not box.log_size(run_id, "heartbeat.json"):
        return {}
    try:
        found = json.loads(box.read_log(run_id, "heartbeat.json", 0))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _notice_end_without_word(house: House, run_id: str, box: BenchBox) -> bool:
    """Only a box that was reached and says "not alive, not finished" ends a run without its own last word.

    The box is asked only when the heartbeat has stood still for a while.
    """
    run, live = house.store.runs.get(run_id), house.live.get(run_id)
    if run is None or run["state"] in FINAL or live is None or time.monotonic() - live.moved_at < STILL_S:
        return False
    seen = box.state(run_id)
    if seen.get("alive") or seen.get("finished"):
        live.moved_at = time.monotonic()
        return False
    if _take_in(house, run, box):
        return True
    if not seen.get("known") and run["cancel_at"]:
        end_run(house, run_id, CANCELLED, f"Stopped by {run['cancel_by']} before it started.")
        return True
    box.cancel(run_id, _CLEARING)  # ends what the dead agent left and closes its ledger there
    _take_in(house, house.store.runs.get(run_id) or run, box, closes=False)
    keep_logs(house, run_id, box)
    title, why = _REBOOTED if seen.get("rebooted") else _GONE
    end_run(house, run_id, LOST, why, BenchError(why, title=title, hint=_AGAIN))
    return True


def end_run(house: House, run_id: str, state: str, note: str, problem: BenchError | None = None) -> None:
    authorize(house, "run.start", run_id)
    stored = problem.as_json()["error"] if problem else None
    house.store.runs.set_state(run_id, state=state, note=note, problem=stored, ended_at=house.clock.now())
