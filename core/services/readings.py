"""What a run's own engine logs say: placement, acceptance as printed, D from the statistics, warnings. Read once per content, then kept."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from core.errors import NotFound, OutputNotUnderstood
from core.formats.reader import read
from core.services.access import authorize
from core.services.house import House
from core.services.imports import storable

SHOWN = (
    "status", "spilled", "spill_reason", "host_only", "layers_offloaded", "layers_total",
    "host_mib", "host_mib_min", "host_mib_max", "host_share",
    "device_mib", "mapped_span_mib", "kv_mib", "kv_device_mib", "kv_type_k", "kv_type_v", "compute_mib", "compute_total_mib", "n_ctx",
    "n_slots", "model_path", "model_size_gib", "build_number", "build_commit", "spec_type", "n_max", "requests", "predicted_n",
    "predicted_ms", "drafted", "accepted", "accept_share", "steps", "a", "mean_len", "per_pos", "step_ms", "D_ms", "V_ms",
    "cost_per_token_ms",
)  # fmt: skip


@lru_cache(maxsize=1)
def reader_id() -> str:
    """Identity of the readers: a changed reader reads kept logs anew, and the older readings stay as they were."""
    folder = Path(__file__).resolve().parent.parent / "formats"
    whole = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        whole.update(path.read_bytes())
    return whole.hexdigest()[:16]


def reading_of_run_log(house: House, run_id: str, name: str) -> dict[str, Any]:
    """{name, kind, values, warnings, problem} of a kept raw log of a run; `problem` says why it could not be read. Raises NotFound."""
    authorize(house, "see", run_id)
    files = house.store.runs.raw_files(run_id)
    kept = next((row for row in files if row["name"] == name), None)
    if kept is None:
        raise NotFound("raw file", name, [row["name"] for row in files])
    body = house.store.imports.reading(kept["sha256"], reader_id())
    if body is None:
        try:
            body = _read(house.archive.read(kept["stored_as"], kept["sha256"]))
        except OutputNotUnderstood as problem:
            return {"name": name, "kind": None, "values": {}, "warnings": [], "problem": problem.message}
        house.store.imports.keep_reading(kept["sha256"], reader_id(), body, house.clock.now())
    return {"name": name, **body}


def _read(data: bytes) -> dict[str, Any]:
    try:
        found = read(data)
    except OutputNotUnderstood as problem:
        return {"kind": None, "values": {}, "warnings": [], "problem": problem.message}
    values = {key: storable(found.values[key]) for key in SHOWN if key in found.values}
    return {"kind": found.kind, "values": values, "warnings": list(found.warnings), "problem": ""}


def readings_of_arm(house: House, run_id: str, n_max: int, c: int) -> list[dict[str, Any]]:
    """Readings of the kept logs of the engine starts that measured one arm, in their order; empty until the logs are home."""
    authorize(house, "see", run_id)
    kept = {row["name"] for row in house.store.runs.raw_files(run_id)}
    names = [f"server-{row['server']}.log" for row in house.store.cells.servers(run_id) if (row["n_max"], row["c"]) == (n_max, c)]
    return [reading_of_run_log(house, run_id, name) for name in names if name in kept]
