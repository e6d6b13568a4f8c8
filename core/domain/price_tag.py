"""What speculation costs beside decode speed: memory, prefill, first token, context or layers given up, minutes spent measuring. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

OK, NOT_RECORDED, NOT_APPLICABLE = "ok", "not_recorded", "not_applicable"
SPACE = ("context", "n_cpu_moe", "n_gpu_layers", "layers_offloaded")  # what may shrink to make room for a head or a draft model


@dataclass(frozen=True)
class Tag:
    """One line: figures of both sides, `change` in `unit` (candidate less baseline); None and a state where it cannot be told."""

    key: str
    label: str
    unit: str
    baseline: float | None
    candidate: float | None
    state: str = OK
    text: str = ""

    @property
    def change(self) -> float | None:
        """Candidate less baseline."""
        return None if self.baseline is None or self.candidate is None else self.candidate - self.baseline

    def as_json(self) -> dict[str, Any]:
        """Plain values with the change."""
        return {**asdict(self), "change": self.change}


def held_mib(log: dict[str, Any] | None) -> float | None:
    """MiB held by one engine start, from its own log: weights, KV cache, compute buffers. None unless weights and KV are there."""
    if not log or not isinstance(log.get("device_mib"), dict) or log.get("kv_mib") is None:
        return None
    compute = log.get("compute_mib")
    host = log.get("host_mib") if not log["device_mib"] else None
    weights = sum(log["device_mib"].values()) + (host or 0.0)
    return float(weights + log["kv_mib"] + (sum(compute.values()) if isinstance(compute, dict) else 0.0))


def price_tag(
    baseline: dict[str, Any],
    candidate: dict[str, Any],
    *,
    differences: dict[str, Any] | None,
    minutes: float | None,
    run_minutes: float | None,
) -> list[Tag]:
    """The lines. A side: {held_mib, prefill_tok_per_s, ttft_ms}; `differences` of the recipes; minutes of this arm and of its run."""
    found = [
        _pair("memory", "memory: weights, KV cache, buffers", "MiB", baseline, candidate, "held_mib"),
        _pair("prefill", "prefill", "tok/s", baseline, candidate, "prefill_tok_per_s"),
        _pair("ttft", "time to first token", "ms", baseline, candidate, "ttft_ms"),
        _given_up(differences),
    ]
    for key, label, spent in (("minutes", "minutes spent on this cell", minutes), ("run_minutes", "minutes of its whole run", run_minutes)):
        found.append(Tag(key, label, "min", None, spent, OK if spent is not None else NOT_RECORDED))
    return found


def _pair(key: str, label: str, unit: str, baseline: dict[str, Any], candidate: dict[str, Any], name: str) -> Tag:
    base, cand = baseline.get(name), candidate.get(name)
    return Tag(key, label, unit, base, cand, OK if base is not None and cand is not None else NOT_RECORDED)


def _given_up(differences: dict[str, Any] | None) -> Tag:
    label = "context or layers given up for it"
    if differences is None:
        return Tag("given_up", label, "", None, None, NOT_RECORDED)
    flat = dict(differences)
    before, after = flat.pop("placement", ({}, {}))
    flat |= {key: ((before or {}).get(key), (after or {}).get(key)) for key in SPACE if key in (before or {}) or key in (after or {})}
    seen = [f"{key} {one} → {other}" for key, (one, other) in flat.items() if key in SPACE and one != other]
    return Tag("given_up", label, "", None, None, OK, "; ".join(seen) or "none")
