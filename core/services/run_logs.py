"""Brings what engines printed home from a box: the load log for the rows, and every log whole for the archive."""

from __future__ import annotations

from core.domain.event_lines import Page
from core.ports.bench_box import BenchBox
from core.services.access import authorize
from core.services.house import House

LOG_LIMIT = 64 << 20


def load_logs(box: BenchBox, run_id: str, page: Page) -> dict[int, bytes]:
    """The load log of each engine that came up in this page, up to the moment it was ready."""
    ready = [event for event in page.events if event["kind"] == "server_ready"]
    return {event["server"]: _read_all(box, run_id, f"server-{event['server']}.log", min(event["log_bytes"], 4 << 20)) for event in ready}


def _read_all(box: BenchBox, run_id: str, name: str, size: int) -> bytes:
    parts: list[bytes] = []
    done = 0
    while done < size:
        part = box.read_log(run_id, name, done, min(1 << 20, size - done))
        if not part:
            break
        parts.append(part)
        done += len(part)
    return b"".join(parts)


def keep_logs(house: House, run_id: str, box: BenchBox) -> None:
    """Keeps every engine log and the telemetry of the run beside the database, whole up to 64 MiB."""
    authorize(house, "run.start", run_id)
    kept = {row["name"] for row in house.store.runs.raw_files(run_id)}
    numbers = sorted({event["body"]["server"] for event in house.store.runs.events(run_id, kinds=("server_starting",))})
    for name in (*(f"server-{number}.log" for number in numbers), "telemetry.csv"):
        size = box.log_size(run_id, name)
        if name not in kept and size is not None:
            data = _read_all(box, run_id, name, min(size, LOG_LIMIT))
            raw = house.archive.keep(run_id, name, data)
            row = {"run_id": run_id, "name": name, "sha256": raw.sha256, "bytes": raw.bytes, "stored_as": raw.stored_as}
            house.store.runs.add_raw_file({**row, "noted_at": house.clock.now()})
