"""Where a model lies, told by bytes: host, devices, spans of a mapped file, each block apart, and whether anything spilled.

`offloaded N/N layers` counts layers asked for, not bytes: experts may lie on the host all the same. What a log cannot show is unknown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core.formats.blocks import Block, device_index, is_host

if TYPE_CHECKING:
    from core.formats.load_log import LoadFacts

AT_MOST_EMBEDDING = 0.05  # the house's rule: with all layers offloaded, a host share up to this is the token embedding, more is spill


@dataclass(frozen=True)
class BlockPlacement:
    """One load block. MiB; `kind` is target, draft or mtp; None where not printed."""

    kind: str
    layers_offloaded: int | None
    layers_total: int | None
    host_mib: float | None
    device_mib: dict[str, float]
    mapped_span_mib: dict[str, float]
    kv_mib: float | None
    kv_device_mib: dict[str, float]
    compute_mib: dict[str, float]


@dataclass(frozen=True)
class Placement:
    """What a load log shows of a model's place. Sizes in MiB (`_gib` in GiB), shares 0-1, None where the log cannot tell.

    `device_mib` is the sum over blocks; `blocks` keeps target and draft apart. `mapped_span_mib` are spans of a file, never bytes held.
    `spilled`: True layers, experts or output in host memory; False at most the token embedding; None not shown; `reason` says why.
    """

    layers_offloaded: int | None = None
    layers_total: int | None = None
    host_mib: float | None = None
    device_mib: dict[str, float] | None = None
    split_mib: float | None = None
    mapped_span_mib: dict[str, float] | None = None
    host_buffers_mib: dict[str, float] | None = None
    host_mib_min: float | None = None
    host_mib_max: float | None = None
    host_share: float | None = None
    kv_mib: float | None = None
    kv_device_mib: dict[str, float] | None = None
    compute_mib: dict[str, float] | None = None
    spilled: bool | None = None
    reason: str = ""
    model_size_gib: float | None = None
    build_number: int | None = None
    build_commit: str | None = None
    n_cpu_moe: int | None = None
    host_only: bool = False
    device_list_complete: bool | None = None
    overrides: dict[str, int] = field(default_factory=dict)
    blocks: tuple[BlockPlacement, ...] = ()


def merged(stores: list[dict[str, float]]) -> dict[str, float]:
    """Adds up sizes by name over blocks."""
    out: dict[str, float] = {}
    for store in stores:
        for name, size in store.items():
            out[name] = round(out.get(name, 0.0) + size, 6)
    return out


def device_list_complete(facts: LoadFacts) -> bool | None:
    """False where the log itself names more devices than the buffer list does and ends in that list; None without buffers."""
    weighed = [block for block in facts.blocks if block.weights]
    if not weighed:
        return None
    seen = {device_index(name) for block in weighed for name in block.weights if not name.startswith("CPU")}
    named = [index for index in facts.extra.device_indices if index not in seen]
    ends_in_list = weighed[-1] is facts.blocks[-1] and not weighed[-1].in_context and not facts.state.ready
    return not (named and ends_in_list)


def block_host_mib(block: Block, complete: bool | None) -> float | None:
    """Weights of one block in host memory; None where a span hides them or the list is cut."""
    if block.required_mib is not None:
        return block.required_mib
    if not block.weights or block.spans() or complete is False:
        return None
    return round(math.fsum(block.hosts().values()), 6)


def kv_total(block: Block) -> float | None:
    """KV cache of one block: the printed total, else the sum of its lines."""
    if block.kv_total:
        return round(math.fsum(block.kv_total), 6)
    return round(math.fsum(block.kv.values()), 6) if block.kv else None


def _summed(values: list[float | None]) -> float | None:
    """Sum of the known ones, None where one block with weights is unknown or there is none."""
    if not values or any(value is None for value in values):
        return None
    return round(math.fsum(value for value in values if value is not None), 6)


def _bounds(facts: LoadFacts, loads: list[Block], host: float | None) -> tuple[float | None, float | None]:
    """Least and most host weights where the exact figure is unknown: overrides without a buffer line, and the mapped span."""
    if host is not None or not loads:
        return None, None
    printed = merged([block.hosts() for block in loads])
    missing = [size for name, size in facts.extra.override_mib.items() if is_host(name) and name not in printed]
    least = math.fsum([*printed.values(), *missing])
    spans = [size for block in loads for name, size in block.spans().items() if name.startswith("CPU") or "_Host" in name]
    most = math.fsum([*spans, *printed.values()]) if spans and len(loads) == 1 else None
    return (round(least, 6) if least else None), (round(most, 6) if most is not None else None)


def placement_of(facts: LoadFacts) -> Placement:
    """Sums up what the blocks say. Nothing is guessed: one missing part makes the sum unknown."""
    loads = [block for block in facts.blocks if block.loads and (block.weights or block.required_mib is not None)]
    complete = device_list_complete(facts)
    host = _summed([block_host_mib(block, complete) for block in loads])
    devices = merged([block.devices() for block in loads])
    splits = _summed([block.splits() for block in loads if block.splits() is not None])
    target = facts.blocks[0] if facts.blocks[0].loads else None
    least, most = _bounds(facts, loads, host)
    spilled, reason = _spill(facts, loads, host, devices, splits)
    layers = target.layers if target and target.layers else next((b.layers for b in loads if b.layers and b.kind == "target"), None)
    weighed = [block for block in loads if block.weights]
    return Placement(
        layers_offloaded=layers[0] if layers else None,
        layers_total=layers[1] if layers else None,
        host_mib=host,
        device_mib=devices if weighed and complete and (devices or not _mapped_devices(weighed)) else None,
        split_mib=splits,
        mapped_span_mib=next((block.spans() for block in weighed if block.spans()), None),
        host_buffers_mib=merged([block.hosts() for block in weighed]) or None,
        host_mib_min=least,
        host_mib_max=most,
        host_share=_share(host, devices, splits, loads),
        kv_mib=_summed([kv_total(block) for block in facts.blocks if kv_total(block) is not None]),
        kv_device_mib=merged([block.kv for block in facts.blocks]) or None,
        compute_mib=merged([block.compute for block in facts.blocks]) or None,
        spilled=spilled,
        reason=reason,
        model_size_gib=facts.extra.values.get("model_size_gib"),
        n_cpu_moe=facts.extra.values.get("n_cpu_moe"),
        build_number=facts.build[0],
        build_commit=facts.build[1],
        host_only=_host_only(facts, loads, devices, splits),
        device_list_complete=complete,
        overrides=dict(facts.extra.overrides),
        blocks=tuple(_block(block, complete) for block in facts.blocks if not block.empty),
    )


def _block(block: Block, complete: bool | None) -> BlockPlacement:
    layers = block.layers or (None, None)
    return BlockPlacement(
        block.kind,
        layers[0],
        layers[1],
        block_host_mib(block, complete),
        block.devices(),
        block.spans(),
        kv_total(block),
        dict(block.kv),
        dict(block.compute),
    )


def _gpu_2023(block: Block) -> float | None:
    """Weights on GPUs in the wording of 2023, MiB: the model's part where a total of model and context is printed."""
    return block.vram_weights_mib if block.vram_weights_mib is not None else block.vram_mib


def _share(host: float | None, devices: dict[str, float], splits: float | None, loads: list[Block]) -> float | None:
    """Host weights over all weights; None where one of the two is unknown."""
    if host is None:
        return None
    rest = math.fsum([*devices.values(), splits or 0.0, *(_gpu_2023(block) or 0.0 for block in loads)])
    if any(block.required_mib is not None and _gpu_2023(block) is None for block in loads):
        return None
    return round(host / (host + rest), 6) if host + rest > 0 else None


def _mapped_devices(loads: list[Block]) -> bool:
    """Whether a device's weights are known as a span only, as on Metal."""
    return any(not name.startswith("CPU") and "_Host" not in name for block in loads for name in block.spans())


def _host_only(facts: LoadFacts, loads: list[Block], devices: dict[str, float], splits: float | None) -> bool:
    """No device holds or could hold anything: the log of a machine or build without a GPU."""
    if not loads or devices or splits or _mapped_devices(loads) or facts.extra.gpu_info or facts.extra.values.get("devices_found"):
        return False
    elsewhere = [n for block in facts.blocks for store in (block.kv, block.compute) for n in store if not n.startswith("CPU")]
    return not elsewhere and all(block.layers is None for block in loads)


def _spill(
    facts: LoadFacts, loads: list[Block], host: float | None, devices: dict[str, float], splits: float | None
) -> tuple[bool | None, str]:
    """Whether layers, experts or the output lie in host memory, and the reason in words."""
    if facts.fit.spilled_by_fit:
        return True, "the fit placed layers with their experts in host memory"
    moved = sum(n for name, n in facts.extra.overrides.items() if name.startswith("CPU") or name.endswith("_Host"))
    if moved:
        return True, f"{moved} tensors overridden to host memory"
    if facts.extra.values.get("n_cpu_moe"):
        return True, f"the command keeps the experts of {facts.extra.values['n_cpu_moe']} layers on the host"
    targets = [block for block in loads if block.kind == "target"] or loads
    layered = next((block.layers for block in targets if block.layers), facts.blocks[0].layers)
    if layered and layered[0] < layered[1]:
        return True, f"{layered[1] - layered[0]} of {layered[1]} layers not offloaded"
    on_host = sum(n for name, n in facts.extra.layers_on.items() if name.startswith("CPU"))
    if on_host:
        return True, f"{on_host} layers assigned to the CPU"
    if not loads:
        return None, "no line tells where the weights lie"
    if _host_only(facts, loads, devices, splits):
        return True, "host only: no GPU device in the log"
    if layered is None:
        return None, "the log does not say how many layers were offloaded"
    if facts.extra.embedding_others == 0:
        return False, "all layers offloaded and only the token embedding kept on the host"
    return _by_bytes(facts, loads, host, _share(host, devices, splits, loads))


def _span_share(loads: list[Block]) -> float | None:
    """At most this share of the target's weights can lie on the host: its spans over spans and devices. None without spans."""
    target = next((block for block in loads if block.kind == "target" and block.spans()), None)
    if target is None or not target.devices() or _mapped_devices([target]):
        return None
    most = math.fsum([*target.spans().values(), *target.hosts().values()])
    return most / (most + math.fsum([*target.devices().values(), target.splits() or 0.0]))


def _by_bytes(facts: LoadFacts, loads: list[Block], host: float | None, share: float | None) -> tuple[bool | None, str]:
    """All layers offloaded: the bytes decide, because experts may lie on the host all the same."""
    spanned = _span_share(loads)
    if host is None and spanned is not None and spanned <= AT_MOST_EMBEDDING:
        return False, f"all layers offloaded and a host span of at most {spanned:.1%} of the weights"
    if host is None:
        return None, "a mapped file hides how many bytes the host holds" if any(b.spans() for b in loads) else "the list of buffers is cut"
    bound = math.prod(facts.extra.vocabulary.values()) * 2 / 1024**2 if len(facts.extra.vocabulary) == 2 else None
    if bound and host <= bound * 1.02:
        return False, "all layers offloaded and no more on the host than a token embedding takes"
    if share is not None and share <= AT_MOST_EMBEDDING:
        return False, f"all layers offloaded and {share:.1%} of the weights on the host"
    if share is not None:
        return True, f"{share:.1%} of the weights on the host although all layers count as offloaded"
    return None, "all layers offloaded, but the share on the host cannot be worked out"
