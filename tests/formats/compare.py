"""How a reading is compared with an expected result: printed figures exactly, computed ones within one unit of the last digit shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

CASES = Path(__file__).resolve().parents[1] / "cases"
EXPECTED: dict[str, dict[str, Any]] = json.loads((CASES / "expected.json").read_text(encoding="utf-8"))


def unit(value: float) -> float:
    """One unit of the last digit that `value` shows."""
    digits = re.search(r"\.(\d+)", repr(value))
    return 10.0 ** -(len(digits[1]) if digits else 0)


def differences(expected: Any, got: Any, path: str = "") -> list[str]:
    """Where a result differs from what is expected; [] where it agrees."""
    if isinstance(expected, dict):
        if not isinstance(got, dict) or set(got) != set(expected):
            return [f"{path}: keys {sorted(expected)} expected, got {got!r}"]
        return [line for key in expected for line in differences(expected[key], got[key], f"{path}.{key}")]
    if isinstance(expected, list):
        if not isinstance(got, list) or len(got) != len(expected):
            return [f"{path}: {expected!r} expected, got {got!r}"]
        return [line for i, part in enumerate(expected) for line in row_differences(part, got[i], f"{path}[{i}]")]
    if isinstance(expected, bool) or expected is None or isinstance(expected, str):
        same = got is expected if not isinstance(expected, str) else got == expected
        return [] if same else [f"{path}: {expected!r} expected, got {got!r}"]
    if isinstance(got, bool) or not isinstance(got, (int, float)):
        return [f"{path}: {expected!r} expected, got {got!r}"]
    slack = unit(expected) * 1.0000001 if isinstance(expected, float) else 0
    return [] if abs(got - expected) <= slack else [f"{path}: {expected!r} expected, got {got!r}"]


def row_differences(expected: Any, got: Any, path: str) -> list[str]:
    """A row of a list: only the keys shown are compared, but each of them exactly as above."""
    if not isinstance(expected, dict):
        return differences(expected, got, path)
    if not isinstance(got, dict):
        return [f"{path}: a row expected, got {got!r}"]
    missing = [f"{path}.{key}: missing" for key in expected if key not in got]
    return missing + [line for key in expected if key in got for line in differences(expected[key], got[key], f"{path}.{key}")]


def case_differences(expected: dict[str, Any], got: dict[str, Any]) -> list[str]:
    """All differences of one case; a key that is not printed at all is one."""
    missing = [f"{key}: missing" for key in expected if key not in got]
    return missing + [line for key in expected if key in got for line in differences(expected[key], got[key], key)]
