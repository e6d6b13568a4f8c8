"""Readings of the box beside a cell's repetitions as series and as what the diagnosis asks: heat, clocks, throttling. Pure."""

from __future__ import annotations

import math
from typing import Any

Reading = dict[str, Any]
QUANTITIES = {
    "temp_c": "GPU temperature, °C",
    "sm_mhz": "GPU clock, MHz",
    "power_w": "GPU power, W",
    "used_mib": "GPU memory in use, MiB",
    "engine_rss_mib": "engine's memory, MiB",
    "host_load_1m": "load of the host, 1 min",
}


def readings_of(samples: list[dict[str, Any]]) -> list[Reading]:
    """Readings of all repetitions in order, {**reading, at: seconds since the first}. `samples`: events with `noted_at` and `body`.

    A reading's own time counts from its repetition's first request; repetitions are placed by when they were noted.
    """
    found: list[Reading] = []
    for event in samples:
        rows = [row for row in event["body"].get("telemetry") or [] if isinstance(row, dict) and _finite(row.get("at_s")) is not None]
        longest = max((row["at_s"] for row in rows), default=0.0)
        end = event["noted_at"].timestamp()
        found += [{**row, "at": end - longest + row["at_s"]} for row in rows]
    found.sort(key=lambda row: row["at"])
    return [{**row, "at": row["at"] - found[0]["at"]} for row in found]


def _finite(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def series_of(readings: list[Reading]) -> dict[str, tuple[list[float], list[float | None]]]:
    """Name with unit → (seconds, values) of every quantity that was read at least once, one GPU a series where there are several."""
    found = {}
    gpus = sorted({row.get("gpu") for row in readings if row.get("gpu") is not None}, key=str) or [None]
    for key, name in QUANTITIES.items():
        for gpu in gpus if key in ("temp_c", "sm_mhz", "power_w", "used_mib") else [None]:
            rows = [row for row in readings if gpu is None or row.get("gpu") == gpu]
            values = [_finite(row.get(key)) for row in rows]
            if any(value is not None for value in values):
                label = f"{name}, GPU {gpu}" if gpu is not None and len(gpus) > 1 else name
                found[label] = ([row["at"] for row in rows], values)
    return found


def first_last(readings: list[Reading], key: str) -> tuple[float, float] | None:
    """First and last value of a quantity; None where it was not read twice."""
    values = [value for row in readings if (value := _finite(row.get(key))) is not None]
    return (values[0], values[-1]) if len(values) > 1 else None


def throttled(samples: list[dict[str, Any]]) -> tuple[str, ...] | None:
    """Throttle reasons seen during the repetitions; None where they were not read, "n/a" on a box without a GPU counts as none seen."""
    said = [event["body"].get("throttle") for event in samples]
    known = [one for one in said if one is not None]
    if not known:
        return None
    return tuple(dict.fromkeys(str(reason) for one in known if isinstance(one, list) for reason in one))
