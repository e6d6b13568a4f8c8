"""The timings object of a server's reply: bare, in a reply, or in a stream of `data:` lines. No draft keys means no draft."""

from __future__ import annotations

import math
from typing import Any

from core.domain import price
from core.formats.numbers import count, kept, number, ratio

Values = dict[str, Any]


def timings_of(document: Any) -> Values | None:
    """The timings object in a reply, or the object itself; None where there is none."""
    if not isinstance(document, dict):
        return None
    inner = document.get("timings")
    found = inner if isinstance(inner, dict) else document
    return found if "predicted_n" in found and "predicted_ms" in found else None


def _summed(objects: list[Values], key: str) -> float | None:
    values = [number(entry.get(key)) for entry in objects]
    known = [value for value in values if value is not None]
    return math.fsum(known) if known and len(known) == len(values) else None


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def values_of(objects: list[Values]) -> Values:
    """The keys of kind `timings_json`, summed over replies; ms and counts. A time of 0.00 ms is a known fault and unknown."""
    ms, n = _summed(objects, "predicted_ms"), _whole(_summed(objects, "predicted_n"))
    drafted, accepted = _whole(_summed(objects, "draft_n")), _whole(_summed(objects, "draft_n_accepted"))
    ms = ms if ms else None
    decoded = n - (len(objects) - 1) if n else None
    steps = price.steps_taken(decoded, accepted) if decoded and accepted is not None else None
    known = decoded is not None and accepted is not None and steps is not None and steps >= 1
    out: Values = {
        "requests": len(objects),
        "prompt_n": _whole(_summed(objects, "prompt_n")),
        "prompt_ms": kept(_summed(objects, "prompt_ms")),
        "predicted_n": n,
        "predicted_ms": kept(ms),
        "cache_n": _whole(_summed(objects, "cache_n")),
        "tps_printed": number(objects[0].get("predicted_per_second")) if len(objects) == 1 else None,
        "drafted": drafted,
        "accepted": accepted,
        "accept_share": kept(ratio(accepted, drafted)),
        "steps": steps if known else None,
        "a": None,
        "step_ms": None,
        "cost_per_token_ms": kept(price.plain_step_ms(ms, decoded)) if ms and decoded else None,
    }
    if known and decoded is not None and accepted is not None:
        out["a"] = kept(price.tokens_per_step(decoded, accepted))
        out["step_ms"] = kept(price.step_ms(ms, decoded, accepted)) if ms else None
    return out


def warnings_of(objects: list[Values]) -> list[str]:
    """At most one sentence per reply."""
    return list(dict.fromkeys(found for entry in objects if (found := _warning(entry))))[:20]


def _warning(entry: Values) -> str | None:
    n, ms = count(entry.get("predicted_n")), number(entry.get("predicted_ms"))
    drafted, accepted = count(entry.get("draft_n")), count(entry.get("draft_n_accepted"))
    if accepted is not None and drafted is not None and accepted > drafted:
        return f"More draft tokens accepted ({accepted}) than drafted ({drafted})."
    if n is not None and accepted is not None and accepted >= n:
        return f"More draft tokens accepted ({accepted}) than tokens generated after the first ({n - 1})."
    if n and ms == 0:
        return "The eval time is printed as 0 ms: a known fault of some builds, the time is unknown."
    rate = number(entry.get("predicted_per_second"))
    if n and ms and rate and all(abs(1000 * many / ms - rate) > 0.002 * rate + 0.001 for many in (n, n - 1)):
        return f"The printed {rate:.2f} tokens/s agrees with neither tokens nor tokens - 1 over the time."
    return None
