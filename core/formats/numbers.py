"""Bounded numbers from printed text: what no engine can mean (NaN, inf, 1e400, negative, absurdly long) is unknown, never a value."""

from __future__ import annotations

import math

LARGEST = 1e15  # no count, size or time that these tools print comes near it
_LONGEST = 32  # characters; longer digit strings are noise and slow to convert


def signed(text: object) -> float | None:
    """A finite number, sign kept (breakdown columns may be negative). None where there is none."""
    if not isinstance(text, (str, int, float)) or isinstance(text, bool) or (isinstance(text, str) and len(text) > _LONGEST):
        return None
    try:
        value = float(text)
    except (ValueError, OverflowError):
        return None
    return value if -LARGEST < value < LARGEST else None  # NaN compares false


def number(text: object) -> float | None:
    """A finite number of at least 0. None for anything else."""
    if type(text) is str and len(text) <= _LONGEST:  # the usual case, kept short because every figure passes here
        try:
            printed = float(text)
        except ValueError:
            return None
        return printed if 0 <= printed < LARGEST else None
    value = signed(text)
    return value if value is not None and value >= 0 else None


def count(text: object) -> int | None:
    """A whole number of at least 0. None for anything else."""
    if isinstance(text, str) and len(text) < 16 and text.isdecimal():
        return int(text)
    value = number(text)
    return int(value) if value is not None and value == int(value) else None


def signed_count(text: object) -> int | None:
    """A whole number, sign kept (`n_gpu_layers` -1 means auto). None for anything else."""
    value = signed(text)
    return int(value) if value is not None and value == int(value) else None


def percent(text: object) -> float | None:
    """A share 0-1 from a printed per cent; None outside 0-100."""
    value = number(str(text).strip().rstrip("%")) if text is not None else None
    return round(value / 100, 8) if value is not None and value <= 100 else None


def numbers(text: str, limit: int = 4096) -> list[float]:
    """A printed list such as `0.91, 0.78`; stops at the first entry that is no number."""
    out: list[float] = []
    for part in text.split(",")[:limit]:
        value = number(part.strip().rstrip("%"))
        if value is None:
            break
        out.append(value)
    return out


def ratio(top: float | None, bottom: float | None) -> float | None:
    """top / bottom; None where one is unknown or the lower one is 0."""
    if top is None or bottom is None or bottom == 0:
        return None
    return top / bottom


def kept(value: float | None, digits: int = 6) -> float | None:
    """Rounds a computed figure so that it prints short; the digits kept exceed those of any printed one."""
    return None if value is None else round(value, digits)


def total(values: list[float | None]) -> float | None:
    """Sum; None where the list is empty or one part is unknown."""
    known = [value for value in values if value is not None]
    return round(math.fsum(known), 6) if known and len(known) == len(values) else None
