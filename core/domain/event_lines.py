"""Reads a run's event lines as they come from a box: complete lines only, numbered without a gap, linked by hash."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from core.domain.recipe import digest
from core.errors import OutputNotUnderstood

MAX_LINE = 4 << 20
ENVELOPE = ("seq", "kind", "wall", "mono_ns", "boot_id", "prev", "sha")


@dataclass(frozen=True)
class Page:
    """Complete events of one poll, and how many bytes they took."""

    events: list[dict[str, Any]]
    consumed: int
    last_seq: int
    last_sha: str


def read_page(data: bytes, *, last_seq: int, last_sha: str) -> Page:
    """Events of the complete lines in `data`; a torn last line waits for the next poll.

    Raises OutputNotUnderstood on a gap, a broken link or a changed line: nothing of the page is taken then.
    """
    consumed = data.rfind(b"\n") + 1
    if not consumed and len(data) > MAX_LINE:
        raise OutputNotUnderstood("An event line is longer than 4 MiB.", hint="The run goes on; its page shows what was read before.")
    events = []
    for line in data[:consumed].split(b"\n"):
        event = _parse(line) if line.strip() else None
        if event is None:
            continue  # a torn line that the agent closed; its note_torn follows in sequence
        if event["seq"] != last_seq + 1 or event["prev"] != last_sha:
            raise OutputNotUnderstood(
                f"Event {event['seq']} does not follow event {last_seq}.", hint="Nothing was taken from here on; the lines before are kept."
            )
        last_seq, last_sha = event["seq"], event["sha"]
        events.append(event)
    return Page(events, consumed, last_seq, last_sha)


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not {"seq", "kind", "wall", "prev", "sha"} <= event.keys():
        return None
    bare = {key: value for key, value in event.items() if key != "sha"}
    try:
        is_whole = digest(bare) == event["sha"]
    except (ValueError, RecursionError):  # a number without end, half a character: no agent has hashed that
        is_whole = False
    if not is_whole:
        raise OutputNotUnderstood(f"Event {event['seq']} was changed after it was written.", hint="Nothing was taken from here on.")
    return event


def when(event: dict[str, Any]) -> datetime:
    """The box's wall clock at the event, UTC."""
    return datetime.fromtimestamp(float(event["wall"]), UTC)


def event_row(event: dict[str, Any]) -> dict[str, Any]:
    """The event as the store keeps it: {seq, kind, noted_at, body}; the body is what the envelope does not say."""
    body = {key: value for key, value in event.items() if key not in ENVELOPE}
    return {"seq": event["seq"], "kind": event["kind"], "noted_at": when(event), "body": body}


def shortfall(end: dict[str, Any], *, events: int, samples: int) -> str:
    """Why a run whose last event is `end` is not complete here, "" when it is: what came against what the agent counted itself."""
    if end.get("events") != events:
        return f"the box counted {end.get('events')} events, {events} came"
    counted = end.get("samples")
    if counted is not None and counted != samples:
        return f"the box counted {counted} repetitions, {samples} came"
    return ""
