"""Checks that catch a misread load log: sums that must hold between lines of one log."""

from __future__ import annotations

import math

from core.formats.load_log import LoadFacts
from core.formats.memory_fit import Row
from core.formats.placement import kv_total


def warnings_of(facts: LoadFacts) -> list[str]:
    """Sentences, one per kind of contradiction."""
    return [*_layers(facts), *_caches(facts), *_tables(facts), *facts.state.warnings()]


def _layers(facts: LoadFacts) -> list[str]:
    for block in facts.blocks:
        if block.layers and block.layers[0] > block.layers[1]:
            return [f"More layers offloaded ({block.layers[0]}) than the model has ({block.layers[1]})."]
    return []


def _caches(facts: LoadFacts) -> list[str]:
    """The cache's total against its lines by device, and against its parts."""
    for block in facts.blocks:
        total, lines = kv_total(block), math.fsum(block.kv.values())
        slack = 0.011 * (1 + len(block.kv))
        if total is not None and block.kv and block.kv_total and abs(total - lines) > slack:
            return [f"The KV lines add up to {lines:.2f} MiB, the printed total is {total:.2f} MiB."]
        if total is not None and block.kv_parts and abs(total - math.fsum(block.kv_parts.values())) > 0.03:
            return [f"The parts of the KV cache do not add up to its {total:.2f} MiB."]
    return []


def _tables(facts: LoadFacts) -> list[str]:
    for table in facts.fit.tables:
        for name, row in table.items():
            if _off(row, "self", ("model", "context", "compute")) or _off(row, "total", ("free", "self", "unaccounted")):
                return [f"The memory breakdown of {name} does not add up."]
    return []


def _off(row: Row, whole: str, parts: tuple[str, ...]) -> bool:
    """Whether parts miss the whole by more than the cutting of each explains."""
    total, values = row.get(whole), [row.get(part) for part in parts]
    if total is None or any(value is None for value in values):
        return False
    return abs(total - sum(value or 0 for value in values)) > len(parts)
