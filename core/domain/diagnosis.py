"""Why a cell loses or looks odd: five rules in a fixed order, each with the evidence it saw; and the failure modes seen.

Pure. A rule answers `seen`, `ruled_out` or `not_recorded`: what was not looked at is not ruled out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

SEEN, RULED_OUT, NOT_RECORDED = "seen", "ruled_out", "not_recorded"
HIGH_ACCEPT, LOW_ACCEPT = 0.7, 0.5  # of proposed tokens
HOT_C = 85.0
CLOCK_DROP = 0.05  # share by which clocks may fall during a cell
DRAFT_SHARE = 0.4  # of a step: drafting contends with the target for the same memory
SLOWER = 0.05  # a prefill or first token this much slower counts as slowed


@dataclass(frozen=True)
class Sight:
    """What is known about a cell. None: not recorded. Shares 0-1, times in ms, temperatures in °C, `step_in_h` in plain steps.

    `placement`: resident | spilled | host-only | unknown. `temperature_c`, `clock_mhz`: (first, last) while it ran. `measured_n`: draft
    lengths tried in its row. `production`: verdict at the production concurrency. `suite_runs`: (off, on) runs of a tool suite.
    """

    n_max: int
    c: int = 1
    verdict: str | None = None
    speedup: float | None = None
    accept_share: float | None = None
    step_in_h: float | None = None
    dominant: str | None = None
    draft_share: float | None = None
    placement: str = "unknown"
    host_share: float | None = None
    is_moe: bool | None = None
    drifted: bool | None = None
    temperature_c: tuple[float, float] | None = None
    clock_mhz: tuple[float, float] | None = None
    throttled: tuple[str, ...] | None = None
    cached_tokens: int | None = None
    kv_types: tuple[str, ...] | None = None
    ttft_ms: tuple[float, float] | None = None
    prefill_tok_per_s: tuple[float, float] | None = None
    reply_ms: tuple[float, float] | None = None
    measured_n: tuple[int, ...] = ()
    production_c: int | None = None
    production: str | None = None
    cold_counted: int = 0
    suite_runs: tuple[int, int] | None = None
    faults: tuple[str, ...] = field(default_factory=tuple)


@dataclass(frozen=True)
class Finding:
    """One rule's answer: what it looked at, what it saw, what to do about it."""

    code: str
    title: str
    state: str
    evidence: str
    advice: str = ""


def needs_diagnosis(sight: Sight) -> bool:
    """Losing, undecided, or odd in another way. A baseline is never diagnosed."""
    if not sight.n_max:
        return False
    flips = sight.production is not None and sight.verdict is not None and sight.production != sight.verdict
    return sight.verdict in ("loses", "no-difference") or bool(sight.drifted or sight.cached_tokens or sight.faults or flips)


def diagnose(sight: Sight) -> list[Finding]:
    """All five rules in their order for a losing or odd cell, else nothing."""
    return [rule(sight) for rule in RULES] if needs_diagnosis(sight) else []


def verify_traffic(sight: Sight) -> Finding:
    """High acceptance but no speed: spill and verify traffic first."""
    title, advice = "spill and verify traffic", "Keep more of the model on the GPU, or draft shorter; a better draft cannot help."
    if sight.accept_share is None or sight.step_in_h is None:
        return Finding(
            "verify", title, NOT_RECORDED, "Acceptance or the cost of a step was not recorded.", "Run it with the engine's counts."
        )
    seen = f"{sight.accept_share:.0%} accepted, yet a step costs {sight.step_in_h:.1f} plain steps"
    where = _where(sight)
    if sight.accept_share < HIGH_ACCEPT:
        return Finding("verify", title, RULED_OUT, f"{sight.accept_share:.0%} accepted is not high: see residency below.")
    if sight.verdict == "wins":
        return Finding("verify", title, RULED_OUT, f"{sight.accept_share:.0%} accepted and it wins at this concurrency.")
    if sight.placement in ("resident", "host-only"):
        advice = "Verifying itself is dear here: draft shorter, and look at the batch kernels of this build."
    return Finding("verify", title, SEEN, f"{seen}; {where}.", advice)


def _where(sight: Sight) -> str:
    if sight.placement == "spilled":
        share = f"{sight.host_share:.0%} of the weights" if sight.host_share is not None else "part of the weights"
        return f"{share} on the host, read for every token that is verified"
    return {"resident": "no spill was read back", "host-only": "the box has no GPU"}.get(sight.placement, "placement is unknown")


def heat(sight: Sight) -> Finding:
    """Heat and other load: drift, throttling, falling clocks."""
    title, advice = "heat or other load", "Repeat on a quiet, cool box before believing the figure."
    seen = _heat_signs(sight)
    if seen:
        return Finding("heat", title, SEEN, "; ".join(seen) + ".", advice)
    if sight.temperature_c is None and sight.clock_mhz is None and sight.throttled is None:
        drift = {None: "drift was not judged", False: "the baseline did not drift"}[sight.drifted if not sight.drifted else None]
        return Finding("heat", title, NOT_RECORDED, f"Temperature and clocks were not recorded; {drift}.", "Run it where they can be read.")
    return Finding("heat", title, RULED_OUT, _calm(sight))


def _heat_signs(sight: Sight) -> list[str]:
    seen = ["the baseline moved during the run"] if sight.drifted else []
    if sight.throttled:
        seen.append("throttled: " + ", ".join(sight.throttled))
    if sight.temperature_c and max(sight.temperature_c) >= HOT_C:
        seen.append(f"{sight.temperature_c[0]:.0f} → {sight.temperature_c[1]:.0f} °C")
    if sight.clock_mhz and sight.clock_mhz[1] < sight.clock_mhz[0] * (1.0 - CLOCK_DROP):
        seen.append(f"clock fell from {sight.clock_mhz[0]:.0f} to {sight.clock_mhz[1]:.0f} MHz")
    return seen


def _calm(sight: Sight) -> str:
    parts = [f"{sight.temperature_c[0]:.0f} → {sight.temperature_c[1]:.0f} °C"] if sight.temperature_c else []
    parts += [f"{sight.clock_mhz[0]:.0f} → {sight.clock_mhz[1]:.0f} MHz"] if sight.clock_mhz else []
    return ", ".join([*parts, "nothing throttled" if sight.throttled is not None else "throttling not recorded"]) + "."


def residency(sight: Sight) -> Finding:
    """Low acceptance: n_max 1 and residency first, never a new draft."""
    title = "low acceptance"
    if sight.accept_share is None:
        return Finding("residency", title, NOT_RECORDED, "Acceptance was not recorded.", "Run it with the engine's counts.")
    if sight.accept_share >= LOW_ACCEPT:
        return Finding("residency", title, RULED_OUT, f"{sight.accept_share:.0%} of proposed tokens were accepted.")
    advice = "Measure n_max 1 and keep more on the GPU first; a new draft is the last thing to try."
    if sight.n_max == 1:
        advice = "Keep more on the GPU first; a new draft is the last thing to try."
    return Finding("residency", title, SEEN, f"{sight.accept_share:.0%} of proposed tokens were accepted; {_where(sight)}.", advice)


def kind_of_speed(sight: Sight) -> Finding:
    """The gain is gone at the production concurrency, or eaten before the first token: the bench was the wrong kind of speed."""
    title, advice = "wrong kind of speed", "Decide on the production row, and on the time of a whole reply."
    seen = []
    if sight.verdict == "wins" and sight.production in ("loses", "no-difference"):
        seen.append(f"wins at one stream, {sight.production.replace('-', ' ')} at c={sight.production_c}")
    if (sight.speedup or 0) > 1 and sight.reply_ms and sight.reply_ms[1] > sight.reply_ms[0]:
        seen.append(f"decode gained, yet a whole reply takes {sight.reply_ms[1]:.0f} instead of {sight.reply_ms[0]:.0f} ms")
    if seen:
        return Finding("speed", title, SEEN, "; ".join(seen) + ".", advice)
    if sight.production is None:
        evidence = f"n_max {sight.n_max} was not measured at the production concurrency."
        return Finding("speed", title, NOT_RECORDED, evidence, "Measure it and the baseline there.")
    return Finding("speed", title, RULED_OUT, f"The verdict at c={sight.production_c} is the same: {sight.production.replace('-', ' ')}.")


def cache_reuse(sight: Sight) -> Finding:
    """Odd multi-turn output after enabling: cache reuse and KV precision."""
    title, advice = "cache reuse and KV precision", "Compare multi-turn output with the cache off and with f16 KV."
    quantised = [kind for kind in sight.kv_types or () if not kind.lower().startswith(("f16", "bf16", "f32"))]
    seen = [f"{sight.cached_tokens} prompt tokens came from a cache"] if sight.cached_tokens else []
    seen += [f"KV kept as {', '.join(quantised)}"] if quantised else []
    if seen:
        return Finding("cache", title, SEEN, "; ".join(seen) + ".", advice)
    if sight.cached_tokens is None:
        return Finding("cache", title, NOT_RECORDED, "Cached prompt tokens were not recorded.", advice)
    kinds = f", KV {'/'.join(dict.fromkeys(sight.kv_types))}" if sight.kv_types else ", KV type not recorded"
    return Finding("cache", title, RULED_OUT, f"No cached prompt tokens{kinds}.")


RULES: tuple[Callable[[Sight], Finding], ...] = (verify_traffic, heat, residency, kind_of_speed, cache_reuse)
