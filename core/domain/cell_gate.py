"""The cell gate: what has to hold before a cell may support a decision. Each condition passes, fails, is n/a or was not recorded.

A cell that fails one is kept and shown with its reason. `n/a` (GPU conditions on a box without one) counts as pass and is shown as n/a;
`not_recorded` is neither: it is named. Where only an instrument of the box could have told (TOLERATED) it does not stand in the way of
a decision, since some boxes have none; everything an engine's own answer tells has to be recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from core.domain.sound import number_of, table_of

PASS, FAIL, NOT_APPLICABLE, NOT_RECORDED = "pass", "fail", "n/a", "not_recorded"
BOOKS_LIMIT = 0.03  # server counts against the client's own clock
SLOT_BAND = 0.15  # share by which one slot's acceptance may lie from the cell's
SLOT_PROPOSED = 50  # proposed tokens a slot needs before its share says anything
MEMORY_MIB = 200.0  # how far GPU memory may move while a cell is measured
TOLERATED = ("gpu_memory", "alone", "slots_agree")  # not recorded is no obstacle
MOVABLE = ("state", "layers_offloaded", "layers_total", "host_mib", "n_cpu_moe")
Verdict = tuple[str, str]


@dataclass(frozen=True)
class CellFacts:
    """What is stored about one arm of a run. None: not recorded.

    `streams`: of every counted repetition, each {slot, drafted, accepted, predicted_n, engine_tok_s, client_tok_s, cached_tokens}.
    `gpu_memory_mib`: {before, during, after}; `others_on_gpu`: entries of preflight or of a repetition; `fit`: "off", else what it did.
    """

    n_max: int
    c: int
    asked_tokens: int | None = None
    drafted: int | None = None
    streams: list[dict[str, Any]] = field(default_factory=list)
    placement: dict[str, Any] | None = None
    asked_cpu_moe: int | None = None
    fit: str | None = None
    slots: int | None = None
    context: int | None = None
    has_gpu: bool | None = None
    gpu_memory_mib: dict[str, float] | None = None
    others_on_gpu: list[Any] | None = None
    prompt_set_sha256: str | None = None
    template_sha256: str | None = None


@dataclass(frozen=True)
class Condition:
    """One condition of the gate with the reason for its state, "" where it passes."""

    name: str
    label: str
    state: str
    reason: str


def cell_gate(cell: CellFacts, other: CellFacts | None = None, *, prompt_set_sha256: str | None = None) -> list[Condition]:
    """Every condition for one cell. `other`: the other arm of the comparison; `prompt_set_sha256`: the set the workload names."""
    found = []
    for name, (label, judge) in _CONDITIONS.items():
        state, reason = judge(cell, other, prompt_set_sha256)
        found.append(Condition(name, label, state, reason))
    return found


def gate_state(conditions: list[Condition]) -> str:
    """fail where one fails, not_recorded where one was not recorded, else pass."""
    states = {condition.state for condition in conditions}
    return FAIL if FAIL in states else NOT_RECORDED if NOT_RECORDED in states else PASS


def gate_of(conditions: list[Condition], residual: float | None) -> dict[str, Any]:
    """As stored and shown: {state, usable, why, conditions: [{name, label, state, reason}], residuals: {books}}."""
    failed = [one.reason for one in conditions if one.state == FAIL]
    missing = [one.reason for one in conditions if one.state == NOT_RECORDED and one.name not in TOLERATED]
    return {
        "state": gate_state(conditions), "usable": not failed and not missing, "why": " ".join(failed or missing),
        "conditions": [asdict(one) for one in conditions], "residuals": {"books": residual},
    }  # fmt: skip


def gated(cell: dict[str, Any], gate: dict[str, Any] | None) -> dict[str, Any]:
    """A matrix cell with what the gate says. One that fails keeps its figures, loses its verdict and says why it is of no use."""
    if gate is None or gate["state"] != FAIL or cell["status"] != "ok":
        return {**cell, "gate": gate}
    return {**cell, "gate": gate, "status": "invalid", "verdict": None, "why": f"not usable: {gate['why']}"}


def _drafted(cell: CellFacts, _other: CellFacts | None, _set: str | None) -> Verdict:
    if not cell.n_max:
        return (FAIL, f"{cell.drafted} tokens were drafted although speculation was off.") if cell.drafted else (PASS, "")
    if cell.drafted is None:
        return NOT_RECORDED, "The engine told no count of drafted tokens."
    return (PASS, "") if cell.drafted > 0 else (FAIL, "Nothing was drafted although speculation was asked for.")


def _cached(cell: CellFacts, _other: CellFacts | None, _set: str | None) -> Verdict:
    counts = [stream.get("cached_tokens") for stream in cell.streams]
    cached = sum(count for count in counts if count)
    if cached:
        return FAIL, f"{cached} prompt tokens came from a cache."
    return (NOT_RECORDED, "The engine told no count of cached prompt tokens.") if not counts or None in counts else (PASS, "")


def _placement(cell: CellFacts, other: CellFacts | None, _set: str | None) -> Verdict:
    if cell.placement is None or cell.placement.get("state") in (None, "unknown"):
        return NOT_RECORDED, "The load log does not show where the model lies."
    if cell.asked_cpu_moe is not None and cell.placement.get("n_cpu_moe") != cell.asked_cpu_moe:
        return FAIL, f"Experts of {cell.asked_cpu_moe} layers were to stay on the host; read back: {cell.placement.get('n_cpu_moe')}."
    if cell.placement.get("moved"):
        return FAIL, "Between two starts of this arm the model moved: " + ", ".join(cell.placement["moved"]) + "."
    if other is not None and other.placement is not None:
        moved = [key for key in MOVABLE if cell.placement.get(key) != other.placement.get(key)]
        if moved:
            return FAIL, "The other arm lies elsewhere: " + ", ".join(moved) + "."
    if cell.fit is None and cell.placement["state"] != "host-only":
        return NOT_RECORDED, "Whether fitting to memory was off, or what it did, was not recorded."
    return PASS, ""


def _same_size(cell: CellFacts, other: CellFacts | None, _set: str | None) -> Verdict:
    if other is None or None in (cell.slots, cell.context, other.slots, other.context):
        return NOT_RECORDED, "Slots and context of both arms were not both read back."
    if (cell.slots, cell.context) != (other.slots, other.context):
        mine, theirs = (f"{one.slots} slots of {one.context} tokens in all" for one in (cell, other))
        return FAIL, f"This arm has {mine}, the other {theirs}."
    return PASS, ""


def _gpu_memory(cell: CellFacts, _other: CellFacts | None, _set: str | None) -> Verdict:
    if cell.has_gpu is False:
        return NOT_APPLICABLE, "The box has no GPU."
    seen = cell.gpu_memory_mib or {}
    if not {"before", "during", "after"} <= seen.keys():
        return NOT_RECORDED, "GPU memory before, during and after was not recorded."
    moved = max(seen.values()) - min(seen.values())
    return (PASS, "") if moved <= MEMORY_MIB else (FAIL, f"GPU memory moved by {moved:.0f} MiB while the cell was measured.")


def _slots_agree(cell: CellFacts, _other: CellFacts | None, _set: str | None) -> Verdict:
    if not cell.n_max or cell.c == 1:
        return NOT_APPLICABLE, "One stream, or speculation off."
    shares = _slot_shares(cell)
    if len(shares) < 2:
        return NOT_RECORDED, "Acceptance by slot was not recorded, or too little was proposed to say."
    middle = median(shares.values())
    slot, share = max(shares.items(), key=lambda item: abs(item[1] - middle))
    if abs(share - middle) > SLOT_BAND:
        return FAIL, f"Slot {slot} accepts {share:.0%} of what it is offered, the others {middle:.0%}."
    return PASS, ""


def _slot_shares(cell: CellFacts) -> dict[Any, float]:
    """Accepted over proposed by slot, where enough was proposed."""
    proposed: dict[Any, int] = {}
    accepted: dict[Any, int] = {}
    for stream in cell.streams:
        slot = stream.get("slot")
        if slot is not None and stream.get("drafted") is not None:
            proposed[slot] = proposed.get(slot, 0) + stream["drafted"]
            accepted[slot] = accepted.get(slot, 0) + (stream.get("accepted") or 0)
    return {slot: accepted[slot] / count for slot, count in proposed.items() if count >= SLOT_PROPOSED}


def _prompts(cell: CellFacts, other: CellFacts | None, expected: str | None) -> Verdict:
    if cell.prompt_set_sha256 is None or cell.template_sha256 is None:
        return NOT_RECORDED, "The prompt set's hash or the chat template's was not recorded."
    if expected is not None and cell.prompt_set_sha256 != expected:
        return FAIL, "The prompt set is not the one the workload names."
    if other is not None and (other.prompt_set_sha256, other.template_sha256) != (cell.prompt_set_sha256, cell.template_sha256):
        return FAIL, "The other arm had another prompt set or chat template."
    return PASS, ""


def _books(cell: CellFacts, _other: CellFacts | None, _set: str | None) -> Verdict:
    residual = books_residual(cell)
    if residual is None:
        return NOT_RECORDED, "Engine's and client's clock were not both recorded."
    return (PASS, "") if residual <= BOOKS_LIMIT else (FAIL, f"Engine's and client's clock differ by {residual:.1%}.")


def books_residual(cell: CellFacts) -> float | None:
    """Median distance between the client's decode rate and the engine's, as a share; None where one is missing."""
    pairs = [(stream.get("engine_tok_s"), stream.get("client_tok_s")) for stream in cell.streams]
    apart = [abs(client / engine - 1.0) for engine, client in pairs if engine and client]
    return median(apart) if apart and len(apart) == len(pairs) else None


def _alone(cell: CellFacts, _other: CellFacts | None, _set: str | None) -> Verdict:
    if cell.has_gpu is False:
        return NOT_APPLICABLE, "The box has no GPU."
    if cell.others_on_gpu is None:
        return NOT_RECORDED, "Whether somebody else computed on the GPU cannot be told."
    if cell.others_on_gpu:
        names = ", ".join(str(one.get("name") if isinstance(one, dict) else one) for one in cell.others_on_gpu[:5])
        return FAIL, f"Somebody else computed on the GPU: {names}."
    return PASS, ""


def _finished(cell: CellFacts, _other: CellFacts | None, _set: str | None) -> Verdict:
    counts = [stream.get("predicted_n") for stream in cell.streams]
    if cell.asked_tokens is None or not counts or None in counts:
        return NOT_RECORDED, "Tokens asked for and received were not both recorded."
    short = [count for count in counts if count != cell.asked_tokens]
    if short:
        return FAIL, f"{len(short)} of {len(counts)} requests ended with other than the {cell.asked_tokens} tokens asked for."
    return PASS, ""


_CONDITIONS: dict[str, tuple[str, Callable[[CellFacts, CellFacts | None, str | None], Verdict]]] = {
    "drafted": ("drafted tokens only where asked for", _drafted),
    "not_cached": ("no cached prompt tokens", _cached),
    "placement": ("placement as asked, the same in both arms", _placement),
    "same_size": ("same slots and context in both arms", _same_size),
    "gpu_memory": ("GPU memory stable", _gpu_memory),
    "slots_agree": ("slots accept alike", _slots_agree),
    "prompts": ("prompt set and chat template as recorded", _prompts),
    "books": ("engine's counts agree with the client's clock", _books),
    "alone": ("no other process on the GPU", _alone),
    "finished": ("every request gave the tokens asked for", _finished),
}


def facts_of(
    samples: list[dict[str, Any]],
    *,
    ready: dict[str, Any],
    placement: dict[str, Any] | None,
    preflight: dict[str, Any],
    spec: dict[str, Any],
) -> CellFacts:
    """Facts of one arm from what is stored: counted `sample` bodies, its `server_ready`, placement read back, `preflight`, the spec."""
    first, props = samples[0], table_of(ready.get("props"))
    gpu = str(table_of(preflight.get("gpus")).get("state"))
    counts: list[Any] = [number_of(sample.get("drafted")) for sample in samples]
    return CellFacts(
        n_max=first["n_max"],
        c=first["c"],
        asked_tokens=spec.get("request", {}).get("max_tokens"),
        drafted=None if None in counts else sum(counts),
        streams=[_stream(turn) for sample in samples for stream in sample.get("streams", []) for turn in stream.get("turns", [stream])],
        placement=placement,
        asked_cpu_moe=spec.get("asked", {}).get("n_cpu_moe"),
        fit=_fit(first, spec),
        slots=number_of(props.get("total_slots")),
        context=number_of(props.get("n_ctx")),
        has_gpu={"none": False, "present": True}.get(gpu),
        gpu_memory_mib=_memory(samples),
        others_on_gpu=_others(samples, preflight),
        prompt_set_sha256=spec.get("prompt_set_sha256"),
        template_sha256=props.get("chat_template_sha256"),
    )


def _fit(first: dict[str, Any], spec: dict[str, Any]) -> str | None:
    """What was asked of fitting to memory. An arm that does not name the flag ran on a binary without one: else it is always named."""
    arm = next((arm["args"] for arm in spec.get("arms", []) if (arm["n_max"], arm["c"]) == (first["n_max"], first["c"])), None)
    if arm is None:
        return None
    return next((value for flag, value in zip(arm, arm[1:], strict=False) if flag in ("-fit", "--fit")), "no such flag")


def _memory(samples: list[dict[str, Any]]) -> dict[str, float] | None:
    """The first value before, and of all repetitions the one farthest from it; None where a repetition has none."""
    seen = [sample.get("gpu_memory_mib") for sample in samples]
    known = [
        one for one in seen if isinstance(one, dict) and all(number_of(one.get(at)) is not None for at in ("before", "during", "after"))
    ]
    if not known or len(known) < len(seen):
        return None
    first = known[0]["before"]
    return {"before": first} | {name: max((one[name] for one in known), key=lambda mib: abs(mib - first)) for name in ("during", "after")}


def _others(samples: list[dict[str, Any]], preflight: dict[str, Any]) -> list[Any] | None:
    """Everybody seen on the GPU, before the run or while it measured; None where somebody could not be looked for."""
    looks = [preflight.get("others_on_gpu"), *(sample.get("others_on_gpu") for sample in samples)]
    found = [one for look in looks if isinstance(look, list) for one in look]
    return found if found or all(isinstance(look, list) for look in looks) else None


def _stream(stream: dict[str, Any]) -> dict[str, Any]:
    timings = {name: number_of(value) for name, value in table_of(stream.get("timings")).items()}
    count, took = timings.get("predicted_n"), timings.get("predicted_ms")
    return {
        "slot": number_of(stream.get("slot")),
        "drafted": timings.get("draft_n"),
        "accepted": timings.get("draft_n_accepted"),
        "predicted_n": count,
        "engine_tok_s": 1000.0 * (count - 1) / took if count and took else None,
        "client_tok_s": number_of(stream.get("client_tok_s")),
        "cached_tokens": number_of(stream.get("cached_tokens")),
    }
