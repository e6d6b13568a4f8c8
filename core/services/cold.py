"""Cold figures: the first repetition after each engine start, stored as cold and never mixed with warm ones."""

from __future__ import annotations

from statistics import median
from typing import Any

from core.services.access import authorize
from core.services.house import House


def cold_figures(house: House, run_id: str, n_max: int, c: int) -> dict[str, Any]:
    """{state: ok | not_recorded | failed, n (engine starts), tok_s, tok_s_min, tok_s_max, ttft_ms, load_s (medians), text} of one arm."""
    authorize(house, "see", run_id)
    cold = [row for row in house.store.cells.samples(run_id, n_max=n_max, c=c) if row["temperature"] == "cold"]
    good = [row for row in cold if row["status"] == "ok" and row["tok_per_s"] is not None]
    blank = {"n": 0, "tok_s": None, "tok_s_min": None, "tok_s_max": None, "ttft_ms": None, "load_s": None}
    if not good:
        state = "failed" if cold else "not_recorded"
        return {"state": state, **blank, "text": cold[0]["reason"] if cold else "no cold repetition was recorded"}
    rates = [row["tok_per_s"] for row in good]
    first = [row["ttft_ms"] for row in good if row["ttft_ms"] is not None]
    loads = [row["load_s"] for row in house.store.cells.servers(run_id) if (row["n_max"], row["c"]) == (n_max, c) and row["load_s"]]
    found = {
        "n": len(rates),
        "tok_s": median(rates),
        "tok_s_min": min(rates),
        "tok_s_max": max(rates),
        "ttft_ms": median(first) if first else None,
        "load_s": median(loads) if loads else None,
    }
    return {"state": "ok", **found, "text": cold_words(found)}


def cold_words(found: dict[str, Any]) -> str:
    """“17.6 tok/s · first token after 95 ms · loaded in 2.0 s (1 start)”."""
    low, high = found["tok_s_min"], found["tok_s_max"]
    parts = [f"{low:.1f} tok/s" if low == high else f"{low:.1f}–{high:.1f} tok/s"]
    parts += [f"first token after {found['ttft_ms']:.0f} ms"] if found["ttft_ms"] is not None else []
    parts += [f"loaded in {found['load_s']:.1f} s"] if found["load_s"] is not None else []
    return f"{' · '.join(parts)} ({found['n']} start{'' if found['n'] == 1 else 's'})"
