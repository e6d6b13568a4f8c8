"""§A: how fast prompts are read, by build, with and without speculation; beside it what the published source says."""

from __future__ import annotations

import re
from typing import Any

from core.domain.matrix import column, is_rate
from core.services.access import authorize
from core.services.house import House
from core.services.matrix_heads import Head


def prefill_rows(house: House, heads: list[Head]) -> list[dict[str, Any]]:
    """One line a measured arm of these heads: head's own keys, n_max, tok_s, tok_s_min, tok_s_max, n, ttft_ms, against_off.

    `against_off`: prefill rate over the one of the same run without speculation (None: not recorded on one side). tok/s None: not recorded.
    """
    authorize(house, "see")
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    run_ids = sorted({head["run_id"] for head in heads if head["run_id"]})
    for arm in house.store.cells.prefill(run_ids) if run_ids else []:
        found.setdefault((arm["run_id"], arm["c"]), []).append(arm)
    lines = []
    for head in heads:
        arms = found.get((head["run_id"], head["c"]), [])
        off = next((arm["tok_s"] for arm in arms if arm["n_max"] == 0), None)
        lines += [_line(head, arm, off) for arm in arms]
    return lines


def _line(head: Head, arm: dict[str, Any], off: float | None) -> dict[str, Any]:
    is_good = all(is_rate(arm[name]) for name in ("tok_s", "tok_s_min", "tok_s_max"))
    figures = {name: arm[name] if is_good else None for name in ("tok_s", "tok_s_min", "tok_s_max")}
    against = arm["tok_s"] / off if is_good and arm["n_max"] and off is not None and is_rate(off) else None
    keys = {name: head[name] for name in ("model", "spill", "box", "build", "workload", "context", "c", "run_id")}
    return {**keys, "n_max": column(arm["n_max"]), **figures, "n": arm["n"], "ttft_ms": arm["ttft_ms"], "against_off": against,
            "provenance": "measured", "cell_id": f"{head['run_id']}-{arm['n_max']}-{head['c']}"}  # fmt: skip


def reference_prefill(house: House) -> list[dict[str, Any]]:
    """What the source says: {label, low, high, words}; a single “about” figure has both ends the same."""
    authorize(house, "see")
    found = []
    for remark in house.store.published.remarks():
        for name, words in remark["body"]["figures"].items() if remark["section"] == "A" else []:
            ends = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", str(words))]
            if ends:
                label = name.removesuffix("_tok_s").replace("_", " ").replace("gpu", "GPU").replace("cpu", "CPU")
                found.append({"label": f"IQ3 builds, {label}", "low": min(ends), "high": max(ends), "words": str(words)})
    return found


def remarks_of(house: House, section: str) -> list[str]:
    """The source's sentences of one section."""
    authorize(house, "see")
    return [remark["body"]["text"] for remark in house.store.published.remarks() if remark["section"] == section]
