"""The accounting worksheet: fields with a baseline and a candidate side, what each is worth, and what is still missing.

Input everywhere is `Evidence`: what the worksheet's run measured and what people typed. A value is a dict
{state, text, provenance, run_id, cell_id, typed_by, typed_at}; state: ok | not_run | not_applicable | not_recorded | failed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from core.domain.forms import Name, Record
from core.domain.matrix import measured_price
from core.domain.suite_row import has_scores, suite_words

FIELDS = {
    "engine": "engine build",
    "artifact": "model artifact",
    "spill": "spill / n-cpu-moe",
    "n_max": "n_max",
    "accepted_length": "mean accepted length",
    "positions": "per-position accept, reject cost",
    "prefill": "prefill tok/s and time to first token",
    "decode": "warm decode tok/s",
    "suite": "tool suite",
    "production": "production concurrency",
    "fit": "fit (memory headroom, failed flags)",
    "failure_modes": "new failure modes",
    "decision": "decision",
    "owner": "owner",
}
TYPED_FIELDS = ("suite", "fit", "failure_modes")
EXTRA_FIELDS = {"plan": "what is asked", "recipe": "recipe compared", "traffic": "traffic shares"}  # typed, but no row of the table
SUITE_BAND = 10.0
Score = Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]


class SuiteScores(Record):
    """Scores of one side of a tool suite, typed in with a name."""

    suite: Name
    scores: list[Score] = Field(min_length=1, max_length=50)
    band: float = Field(default=SUITE_BAND, ge=0, le=1000, allow_inf_nan=False)


@dataclass(frozen=True)
class Side:
    """One column: n_max, what ran, and its cells at one stream and at the production concurrency (None: not measured).

    `log`: figures of the engine's own log, as read from the kept file (None: not kept, or not understood). `suites`: scored by the run;
    `cold`: its cold figures in words, apart from the warm ones.
    `gates`: what the cell gate says of `single` and of `production`.
    """

    n_max: int | None = None
    engine: dict[str, Any] | None = None
    artifact: dict[str, Any] | None = None
    placement: dict[str, Any] | None = None
    recipe: dict[str, Any] | None = None
    single: dict[str, Any] | None = None
    production: dict[str, Any] | None = None
    per_position: list[float] | None = None
    log: dict[str, Any] | None = None
    suites: list[dict[str, Any]] = field(default_factory=list)
    cold: str = ""
    gates: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Evidence:
    """Everything a worksheet is filled from. `steps`: single-stream cells by n, baseline at 0; `production_steps`: the same there.

    `typed`: (field, side) → entry. `baseline_run_id`: the baseline's run where it is another one than the candidate's.
    """

    asked: dict[str, Any]
    run_id: str | None = None
    outcome: str | None = None
    drifted: bool | None = None
    stop: dict[str, Any] | None = None
    baseline: Side = field(default_factory=Side)
    candidate: Side = field(default_factory=Side)
    steps: dict[int, dict[str, Any]] = field(default_factory=dict)
    typed: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    unwanted: dict[str, Any] | None = None
    owner: str | None = None
    production_steps: dict[int, dict[str, Any]] = field(default_factory=dict)
    baseline_run_id: str | None = None
    provenance: str = "measured"


def value(text: str, *, state: str = "ok", **more: Any) -> dict[str, Any]:
    """One worksheet value with where it comes from."""
    return {"state": state, "text": text, "provenance": None, "run_id": None, "cell_id": None, "typed_by": None, "typed_at": None, **more}


MISSING = value("", state="not_run")
NOT_APPLICABLE = value("n/a", state="not_applicable")


def fields_of(evidence: Evidence) -> list[dict[str, Any]]:
    """The table, top to bottom: {key, label, baseline, candidate, note, state: ok | open}."""
    rows = []
    for key, label in FIELDS.items():
        base, cand = _READERS[key](evidence, evidence.baseline), _READERS[key](evidence, evidence.candidate)
        if evidence.baseline_run_id and base["run_id"]:
            base = {**base, "run_id": evidence.baseline_run_id}
        if key in ("accepted_length", "positions") and base["state"] != "failed":
            base = NOT_APPLICABLE
        if key in ("decision", "owner", "failure_modes"):
            base = NOT_APPLICABLE
        done = all(side["state"] in ("ok", "not_applicable") for side in (base, cand))
        note = evidence.typed.get((key, "note"), {}).get("value") or ""
        rows.append({"key": key, "label": label, "baseline": base, "candidate": cand, "note": note, "state": "ok" if done else "open"})
    return rows


def priced(fields: list[dict[str, Any]]) -> tuple[int, int]:
    """How many rows are filled, of how many: decision and owner come after the price and do not count."""
    rows = [row for row in fields if row["key"] not in ("decision", "owner")]
    return sum(row["state"] == "ok" for row in rows), len(rows)


def _from_run(evidence: Evidence, text: str, cell: dict[str, Any] | None = None) -> dict[str, Any]:
    link = f"{cell['run_id']}-{cell['n_max']}-{cell['c']}" if cell else None
    return value(text, provenance="measured", run_id=evidence.run_id, cell_id=link)


def is_pinned(engine: dict[str, Any]) -> bool:
    """A commit, or a build number that a packager set (0 and 1 mean: not set)."""
    return bool(engine.get("commit")) or (engine.get("build") or 0) > 1


def _engine(evidence: Evidence, side: Side) -> dict[str, Any]:
    if not side.engine:
        return MISSING
    if not is_pinned(side.engine):
        return {**_from_run(evidence, side.engine.get("version_text") or "—?"), "state": "not_recorded"}
    build, commit = side.engine.get("build"), side.engine.get("commit")
    return _from_run(evidence, " ".join(text for text in (f"b{build}" if build else "", f"({commit})" if commit else "") if text))


def _artifact(evidence: Evidence, side: Side) -> dict[str, Any]:
    if not side.artifact:
        return MISSING
    return _from_run(evidence, f"{side.artifact['path']} · sha256 {side.artifact['sha256'][:12]}…")


def _spill(evidence: Evidence, side: Side) -> dict[str, Any]:
    if not side.placement:
        return MISSING
    found = _from_run(evidence, "; ".join([side.placement["label"], *_memory(side.log or {})]))
    return found if side.placement.get("state") != "unknown" else {**found, "state": "not_recorded"}


def _memory(log: dict[str, Any]) -> list[str]:
    """KV cache and compute buffers from the engine's own log, where it prints them."""
    compute = log.get("compute_mib")
    found = [f"KV {log['kv_mib']:.1f} MiB"] if log.get("kv_mib") is not None else []
    return found + ([f"compute {sum(compute.values()):.1f} MiB"] if compute else [])


def _n_max(evidence: Evidence, side: Side) -> dict[str, Any]:
    if side.n_max is None:
        return MISSING
    return _from_run(evidence, "off" if side.n_max == 0 else str(side.n_max), side.single)


def _accepted_length(evidence: Evidence, side: Side) -> dict[str, Any]:
    cell = side.single
    if not cell or not cell["n"]:
        return MISSING
    if not cell["steps"]:
        return value("—?", state="not_recorded")
    return _from_run(evidence, f"{cell['decode_tokens'] / cell['steps']:.2f} tokens per step", cell)


def _positions(evidence: Evidence, side: Side) -> dict[str, Any]:
    if not side.single or not side.single["n"]:
        return MISSING
    shares, origin = side.per_position, ""
    if not shares:
        shares, origin = (side.log or {}).get("per_pos"), " (as its log printed them, warm-up included)"
    if not shares:
        return value("—?", state="not_recorded")
    shown = ", ".join(f"{share:.0%}" for share in shares)
    cost = _reject_cost(evidence, side)
    return _from_run(
        evidence,
        f"{shown} of drafts got that far{origin}" + (f"; rejects cost at most {cost:.1f} ms per token" if cost is not None else ""),
        side.single,
    )


def _reject_cost(evidence: Evidence, side: Side) -> float | None:
    cell, price = side.single, measured_price(side.single or {"n_max": 0}, evidence.baseline.single)
    if not cell or not price or price.step_ms is None or not cell["drafted"]:
        return None
    return max(0.0, (cell["drafted"] - cell["accepted"]) / cell["drafted"] * (price.step_ms - price.h_ms) / price.a)


def _prefill(evidence: Evidence, side: Side) -> dict[str, Any]:
    cell = side.single
    if not cell or not cell["n"]:
        return MISSING
    if cell["prefill_tok_per_s"] is None or cell["ttft_ms"] is None:
        return value("—?", state="not_recorded")
    return _from_run(evidence, f"{cell['prefill_tok_per_s']:.0f} tok/s · {cell['ttft_ms']:.0f} ms", cell)


def rate_range(cell: dict[str, Any]) -> str:
    """“21.9–22.4 (3)”: the range over the counted repetitions and how many they are."""
    return f"{cell['tok_per_s_min']:.1f}–{cell['tok_per_s_max']:.1f} ({cell['n']})"


def _rates(evidence: Evidence, cell: dict[str, Any] | None) -> dict[str, Any]:
    if not cell:
        return MISSING
    if not cell["n"]:
        return value(cell["why_bad"] or "failed", state="failed", run_id=evidence.run_id)
    return _from_run(evidence, rate_range(cell), cell)


def _decode(evidence: Evidence, side: Side) -> dict[str, Any]:
    return {**_rates(evidence, side.single), "cold": side.cold}


def _suite(evidence: Evidence, side: Side) -> dict[str, Any]:
    """What the run scored, else what a person typed."""
    typed: dict[str, Any] = _typed("suite")(evidence, side)
    if not side.suites or (typed["state"] == "ok" and not has_scores(side.suites)):
        return typed
    state, words = suite_words(side.suites)
    return {**_from_run(evidence, words), "state": state}


def _production(evidence: Evidence, side: Side) -> dict[str, Any]:
    found = _rates(evidence, side.production)
    return {**found, "text": f"c={evidence.asked['production_c']}: {found['text']}"} if found["state"] == "ok" else found


def _typed(key: str) -> Any:
    def read(evidence: Evidence, side: Side) -> dict[str, Any]:
        name = "baseline" if side is evidence.baseline else "candidate"
        entry = evidence.typed.get((key, name))
        if not entry:
            return MISSING
        shown = entry["value"]
        if key == "suite":
            shown = f"{shown['suite']}: " + ", ".join(f"{score:g}" for score in shown["scores"])
        return value(str(shown), provenance="typed", typed_by=entry["typed_by"], typed_at=entry["noted_at"])

    return read


def _decision(evidence: Evidence, side: Side) -> dict[str, Any]:
    return MISSING


def _owner(evidence: Evidence, side: Side) -> dict[str, Any]:
    return value(evidence.owner, provenance="typed", typed_by=evidence.owner) if evidence.owner else MISSING


_READERS: dict[str, Any] = {
    "engine": _engine,
    "artifact": _artifact,
    "spill": _spill,
    "n_max": _n_max,
    "accepted_length": _accepted_length,
    "positions": _positions,
    "prefill": _prefill,
    "decode": _decode,
    "suite": _suite,
    "production": _production,
    "fit": _typed("fit"),
    "failure_modes": _typed("failure_modes"),
    "decision": _decision,
    "owner": _owner,
}
