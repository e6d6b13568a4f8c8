"""Bytes of a run's events from its box, at least one whole line of them where there is one."""

from __future__ import annotations

from core.domain.event_lines import MAX_LINE
from core.ports.bench_box import BenchBox


def read_lines(box: BenchBox, run_id: str, offset: int) -> bytes:
    """What the box has from there on, in one piece; a line longer than a piece is read on to its end, or to one byte above the limit."""
    data = box.read_events(run_id, offset)
    while data and b"\n" not in data and len(data) <= MAX_LINE:
        more = box.read_events(run_id, offset + len(data))
        if not more:
            break
        data += more
    return data
