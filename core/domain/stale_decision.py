"""When a decision goes stale: by its age, or because a newer run on the same box and model differs in what it was taken under.

Facts are {name of domain: comparable text or number, None: not recorded}. Unknown on either side says nothing.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

OF_THE_BOX = ("engine build", "driver", "model artifact", "GPU")  # any workload shows these
OF_THE_RECIPE = ("slots", "spill", "p_min", "context")  # only the same workload can be compared
ENGINE_DEFAULT = "engine default"


def facts_of(request: dict[str, Any], preflight: dict[str, Any], recipe: dict[str, Any] | None, slots: int | None = None) -> dict[str, Any]:
    """What a run stood on, from its request, what its preflight saw, the recipe read back, and the most slots of any of its arms."""
    gpus = preflight.get("gpus") or {}
    cards = gpus.get("list") or []
    return {
        "engine build": _build(recipe, preflight),
        "driver": ", ".join(sorted({str(card["driver"]) for card in cards if card.get("driver")})) or None,
        "model artifact": (preflight.get("artifact") or {}).get("sha256"),
        "GPU": "none" if gpus.get("state") == "none" else ", ".join(sorted(str(card.get("name")) for card in cards)) or None,
        "slots": max(slots or 1, request.get("production_c") or 1),
        "spill": placement_words((recipe or {}).get("placement")),
        "p_min": None if recipe is None else recipe.get("p_min", request.get("p_min")) or ENGINE_DEFAULT,
        "context": (recipe or {}).get("context") or request.get("context"),
    }


def _build(recipe: dict[str, Any] | None, preflight: dict[str, Any]) -> str | None:
    build, commit = (recipe or {}).get("engine_build"), (recipe or {}).get("engine_commit")
    told = " ".join(part for part in (f"b{build}" if build else "", f"({commit})" if commit else "") if part)
    return told or (preflight.get("engine") or {}).get("version_text") or None


def placement_words(placement: dict[str, Any] | None) -> str | None:
    """The placement in words that do not move with every run: no MiB, which differ by a few from load to load."""
    if not placement or placement.get("state") in (None, "unknown"):
        return None
    layers = f", {placement['layers_offloaded']}/{placement['layers_total']} layers" if placement.get("layers_total") else ""
    experts = f", experts of {placement['n_cpu_moe']} layers on the host" if placement.get("n_cpu_moe") else ""
    return f"{placement['state']}{layers}{experts}"


def is_comparable(name: str, taken: dict[str, Any], request: dict[str, Any]) -> bool:
    """Whether a run of this request can say something about a decision that was taken for `taken` (model, box, workload)."""
    if name == "slots" and request.get("production_c") == 1:
        return False  # a sweep at one stream says nothing about how many are served
    same = taken.get("model") == request.get("model") and taken.get("box_id") == request.get("box_id")
    return same and (name in OF_THE_BOX or taken.get("workload_id") == request.get("workload_id"))


def changes(
    then: dict[str, Any], now: dict[str, Any], watched: list[str], taken: dict[str, Any], request: dict[str, Any]
) -> dict[str, Any]:
    """Name → value of the newer run, for every watched fact that both sides know and that can be compared."""
    known = (name for name in watched if then.get(name) is not None and now.get(name) is not None)
    return {name: now[name] for name in known if is_comparable(name, taken, request)}


def too_old(at: datetime, now: datetime, age_days: int) -> str:
    """One clause when the decision is older than it may be; "" while it is not."""
    days = (now - at).days
    return f"it is {days} days old, {age_days} were set as its limit" if days >= age_days else ""
