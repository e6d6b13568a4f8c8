"""What a repetition's readings say: GPU memory before, during and after, throttling, who else was there, rows to plot."""

from __future__ import annotations

from typing import Any

from core.agent.telemetry import rows_of

MOST_ROWS = 240  # of one repetition in its event; telemetry.csv has all


def box_facts(before: Any, inside: list[Any], after: Any, begun_ns: int) -> dict[str, Any]:
    """`gpu_memory_mib`, `throttle`, `others_on_gpu`, `telemetry` of a `sample` event. "n/a" without a GPU, None where it was not read."""
    moments = [("before", [before]), ("during", inside), ("after", [after])]
    known = [(moment, item) for moment, items in moments for item in items if item is not None]
    rows = [_row(moment, row, begun_ns) for moment, item in _thinned(known) for row in rows_of(item)]
    if any(item["state"] == "none" for _, item in known):
        return {"gpu_memory_mib": "n/a", "throttle": "n/a", "others_on_gpu": "n/a", "telemetry": rows}
    here = [item for moment, item in known if moment == "during"] or [item for moment, item in known if moment == "after"]
    return {
        "gpu_memory_mib": _memory(known), "throttle": _throttle(here), "others_on_gpu": _others([item for _, item in known]),
        "telemetry": rows,
    }  # fmt: skip


def _row(moment: str, row: dict[str, Any], begun_ns: int) -> dict[str, Any]:
    """Without the run-wide clock: seconds from the start of the repetition instead."""
    kept = {key: value for key, value in row.items() if key not in ("mono_ns", "wall", "state", "why")}
    return dict(kept, moment=moment, at_s=round((row["mono_ns"] - begun_ns) / 1e9, 3))


def _thinned(known: list[Any]) -> list[Any]:
    """Evenly fewer readings where a repetition is long; first and last stay."""
    step = -(-len(known) // MOST_ROWS)
    return known if step <= 1 else known[:-1:step] + known[-1:]


def _memory(known: list[Any]) -> dict[str, float] | None:
    """Sum over the GPUs; of several readings during the repetition the one farthest from before. None unless all three are known."""
    used = {}  # type: dict[str, list[float]]
    for moment, item in known:
        parts = [gpu["used_mib"] for gpu in item["gpus"]]
        if parts and None not in parts:
            used.setdefault(moment, []).append(sum(parts))
    if len(used) < 3:
        return None
    first = used["before"][0]
    return {"before": first, "during": max(used["during"], key=lambda mib: abs(mib - first)), "after": used["after"][0]}


def _throttle(inside: list[Any]) -> list[str] | None:
    told = [gpu["throttle"] for item in inside for gpu in item["gpus"] if gpu["throttle"] is not None]
    return sorted({reason for reasons in told for reason in reasons}) if told else None


def _others(readings: list[Any]) -> list[Any] | None:
    """Everybody that was seen once; None where nobody looked."""
    told = [item["others"] for item in readings if item["others"] is not None]
    found = {one["pid"]: one for others in told for one in others}
    return list(found.values()) if told else None
