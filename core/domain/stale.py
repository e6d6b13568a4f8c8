"""When a figure may no longer be true: something newer runs on its box, or it is simply old. Nothing is hidden for it."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

OLD_AFTER = timedelta(days=180)


@lru_cache(maxsize=1024)
def build_text(build: Any, commit: Any) -> str | None:
    """“b11549 (abcdef12)”, as much of it as was recorded."""
    return " ".join(part for part in (f"b{build}" if build else "", f"({commit})" if commit else "") if part) or None


def stale_reasons(head: dict[str, Any], check: dict[str, Any] | None, now: datetime) -> list[str]:
    """Why a measured row is stale, empty where it is not.

    `head`: ran_at, build, commit, driver, artifact and their `newest_…` on the same box. `check`: {noted_at, build, commit, driver} of the
    newest look at the box, which counts only when it is later than the row.
    """
    newest = {name: head[f"newest_{name}"] for name in ("build", "commit", "driver", "artifact")}
    if check and check["noted_at"] > head["ran_at"]:
        newest |= {name: check[name] for name in ("driver",) if check[name]}
        if check["build"] or check["commit"]:
            newest |= {"build": check["build"], "commit": check["commit"]}
    reasons = []
    if _engine(newest) and _engine(head) and _engine(newest) != _engine(head):
        reasons.append(f"the box has another engine build since: {build_text(newest['build'], newest['commit'])}")
    if _differs(newest["driver"], head["driver"]):
        reasons.append(f"the box has another driver since: {newest['driver']}")
    if _differs(newest["artifact"], head["artifact"]):
        reasons.append(f"another file of this model ran there since: sha256 {str(newest['artifact'])[:8]}…")
    if now - head["ran_at"] > OLD_AFTER:
        reasons.append(f"measured {(now - head['ran_at']).days} days ago")
    return reasons


def _engine(of: dict[str, Any]) -> tuple[str, str] | None:
    found = (str(of["build"] or ""), str(of["commit"] or ""))
    return found if any(found) else None


def _differs(newest: Any, own: Any) -> bool:
    return bool(newest) and bool(own) and newest != own
