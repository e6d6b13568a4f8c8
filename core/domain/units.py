"""The figures of a reading with their units, told from the keys' names; and the keys that the input could not tell."""

from __future__ import annotations

import re
from typing import Any

_UNITS = (
    ("_mib", "MiB"), ("_gib", "GiB"), ("_ms", "ms"), ("_s", "s"), ("_bytes", "bytes"), ("_pct", "%"), ("tps", "tok/s"),
    ("_share", "share 0–1"), ("layers", "layers"), ("steps", "steps"),
)  # fmt: skip
_TOKENS = re.compile(r"(^|_)(accepted|drafted|predicted_n|prompt_n|n_ctx|n_max|mean_len|a|n_draft|tokens)($|_)")


def unit_of(key: str) -> str:
    """The unit that a key's name carries; empty where it has none."""
    if key.endswith("_tps") or key.startswith("tps"):
        return "tok/s"
    unit = next((unit for end, unit in _UNITS if key.endswith(end)), "")
    return unit or ("tokens" if _TOKENS.search(key) else "")


def figures_of(values: dict[str, Any]) -> tuple[list[tuple[str, Any, str]], list[str]]:
    """(figures that the reading has: key, value, unit; keys that it cannot tell), in the reader's order."""
    known = [
        (key, value, unit_of(key))
        for key, value in values.items()
        if value is not None and not (isinstance(value, list | dict) and not value)
    ]
    return known, [key for key, value in values.items() if value is None]
