"""The keys of kind `load_log` from the facts of a load log; null where the log cannot tell."""

from __future__ import annotations

import math
from typing import Any

from core.formats import server_log
from core.formats.blocks import Block, is_host
from core.formats.load_log import LoadFacts
from core.formats.numbers import kept, total
from core.formats.placement import Placement, kv_total, merged, placement_of
from core.formats.requests import RequestFacts

Values = dict[str, Any]
_REQUEST_KEYS = (
    "requests",
    "prompt_n",
    "prompt_ms",
    "predicted_n",
    "predicted_ms",
    "accepted",
    "drafted",
    "accept_share",
    "mean_len",
    "steps",
    "a",
) + ("step_ms", "D_ms", "V_ms", "since_start_accepted", "since_start_drafted", "tps_printed", "per_pos", "cost_per_token_ms")


def values_of(facts: LoadFacts, requests: RequestFacts) -> Values:
    """All keys that the log decides."""
    placement = placement_of(facts)
    out: Values = {}
    out.update(_placement_values(facts, placement))
    out.update(_context_values(facts, placement))
    out.update(_fit_values(facts))
    out.update(_table_values(facts))
    out.update(_extra_values(facts, placement))
    out.update(_state_values(facts, requests))
    if requests.requests:
        priced = server_log.values_of(requests)
        out.update({key: priced.get(key) for key in _REQUEST_KEYS})
        out["spec_type"] = out["spec_type"] or priced.get("spec_type")
    return out


def _loads(facts: LoadFacts) -> list[Block]:
    return [block for block in facts.blocks if block.loads]


def _block_devices(facts: LoadFacts, kind: str) -> dict[str, float] | None:
    """Weights by device of the blocks of one kind; None where only one block exists or the kind has none."""
    blocks = [block for block in facts.blocks if block.kind == kind and block.weights]
    return merged([block.devices() for block in blocks]) if blocks and len(_loads(facts)) > 1 else None


def _placement_values(facts: LoadFacts, placement: Placement) -> Values:
    loads = _loads(facts)
    return {**_layer_values(facts, placement, loads), **_host_values(placement, loads), **_device_values(facts, placement, loads)}


def _layer_values(facts: LoadFacts, placement: Placement, loads: list[Block]) -> Values:
    on_host = sum(n for name, n in facts.extra.layers_on.items() if name.startswith("CPU")) if facts.extra.layers_on else None
    claimed = placement.layers_offloaded
    contradicted = bool(on_host) and claimed is not None and claimed == placement.layers_total
    return {
        "layers_offloaded": None if contradicted else claimed,
        "layers_total": placement.layers_total,
        "layers_claimed": claimed,
        "layers_seen_on_cpu": on_host,
        "conflict": None if on_host is None or claimed is None else contradicted,
        "blocks": len(loads) if facts.evidence else None,
        "block_kinds": [block.kind for block in loads] if facts.evidence else None,
    }


def _host_values(placement: Placement, loads: list[Block]) -> Values:
    return {
        "host_mib": placement.host_mib,
        "host_buffers_mib": placement.host_buffers_mib,
        "host_mib_min": placement.host_mib_min,
        "host_mib_max": placement.host_mib_max,
        "host_share": placement.host_share,
        "cpu_repack_mib": next((b.weights["CPU_REPACK"] for b in loads if "CPU_REPACK" in b.weights), None),
        "mapped_span_mib": placement.mapped_span_mib,
        "spilled": placement.spilled,
        "spill_reason": placement.reason,
        "host_only": placement.host_only,
        "n_cpu_moe": placement.n_cpu_moe,
    }


def _device_values(facts: LoadFacts, placement: Placement, loads: list[Block]) -> Values:
    devices, complete, weighed = placement.device_mib, placement.device_list_complete, any(block.weights for block in loads)
    seen = merged([block.devices() for block in loads]) if weighed else None
    known = total([placement.host_mib, math.fsum((devices or {}).values()) if devices is not None else None])
    vram = next((block.vram_mib for block in loads if block.vram_mib is not None), None)
    weights_2023 = next((block.vram_weights_mib for block in loads if block.vram_weights_mib is not None), vram)
    return {
        "device_mib": devices,
        "device_mib_seen": seen,
        "device_list_complete": complete,
        "devices_used": list(devices) if devices else None,
        "devices_at_least": facts.devices_at_least(),
        "target_device_mib": _block_devices(facts, "target"),
        "mtp_device_mib": _block_devices(facts, "mtp"),
        "split_mib": placement.split_mib,
        "tensor_split_mode": True if any(n.startswith("Meta(") for block in loads for n in block.weights) else None,
        "gpu_weights_mib": round(math.fsum([*devices.values(), placement.split_mib or 0.0]), 6) if devices is not None else weights_2023,
        "weights_total_mib": round(known + (placement.split_mib or 0.0), 6) if known is not None and complete else None,
        "vram_mib": vram,
    }


def _context_values(facts: LoadFacts, placement: Placement) -> Values:
    blocks = facts.blocks
    target = next((block for block in blocks if block.kv_parts), blocks[0])
    lines = [size for block in blocks for size in block.kv.values()]
    compute = merged([block.compute for block in blocks])
    kinds = next((block.kv_types for block in blocks if block.kv_types != (None, None)), (None, None))
    recurrent = next((block for block in blocks if block.rs or block.rs_total), None)
    contexts = [block for block in blocks if block.kv or block.kv_total or block.compute]
    n_ctx = next((block.n_ctx for block in blocks if block.n_ctx is not None), None)
    return {
        "kv_mib": placement.kv_mib,
        "kv_device_mib": placement.kv_device_mib,
        "kv_lines_sum_mib": round(math.fsum(lines), 6) if lines else None,
        "kv_block_mib": [kv_total(block) for block in contexts] if len(contexts) > 1 else None,
        "kv_k_mib": target.kv_parts.get("K", target.kv_parts.get("c^KV")),
        "kv_v_mib": target.kv_parts.get("V", target.kv_parts.get("kv^T")),
        "kv_type_k": kinds[0],
        "kv_type_v": kinds[1],
        "compute_mib": placement.compute_mib,
        "compute_total_mib": facts.compute_total_mib if not compute else round(math.fsum(compute.values()), 6),
        "compute_block_mib": [round(math.fsum(b.compute.values()), 6) or None for b in contexts] if len(contexts) > 1 else None,
        "rs_mib": _rs_total(recurrent),
        "rs_device_mib": merged([block.rs for block in blocks]) or None,
        "rs_r_mib": recurrent.rs_parts.get("R") if recurrent else None,
        "rs_s_mib": recurrent.rs_parts.get("S") if recurrent else None,
        "rs_seq": facts.rs_seq if facts.rs_seq is not None else facts.extra.values.get("n_rs_seq"),
        "n_seqs": facts.seqs if facts.seqs is not None else facts.extra.values.get("n_seqs"),
        "n_ctx": n_ctx if n_ctx is not None else facts.fit.values.get("fit_n_ctx"),
    }


def _rs_total(block: Block | None) -> float | None:
    """Recurrent state: the printed total, else the sum of its lines, MiB."""
    if block is None:
        return None
    return round(math.fsum(block.rs_total or block.rs.values()), 6)


def _fit_values(facts: LoadFacts) -> Values:
    fit, info = facts.fit.values, facts.extra.gpu_info
    rows = facts.fit.rows
    info_total = sum(total_mib for total_mib, _ in info.values()) if info else None
    info_free = sum(free for _, free in info.values()) if info else None
    target_free = next((block.free_mib for block in facts.blocks if block.kind == "target" and block.free_mib is not None), None)
    draft_free = next((block.free_mib for block in facts.blocks if block.kind != "target" and block.free_mib is not None), None)
    keys: tuple[str, ...] = ("fit", "projected_mib", "margin_mib", "free_target_mib", "must_reduce_mib", "n_ctx_from", "n_ctx_changed")
    keys += ("dense_only_layers", "full_layers", "placement_changed_by_fit", "device_target_mib")
    keys += ("mtp_context_estimate_mib", "draft_estimate_mib", "mmproj_estimate_mib")
    return {
        **{key: fit.get(key) for key in keys},
        "gpu_total_mib": _first(fit.get("fit_total_mib"), info_total, facts.extra.values.get("vram_total_mib")),
        "gpu_free_mib": _first(fit.get("fit_free_mib"), info_free, target_free),
        "free_before_draft_mib": draft_free,
        "rows_used_sum_mib": sum(row[2] for row in rows) if rows else None,
        "deficits_mib": [row[3] for row in rows if row[4] == "deficit"] or None,
    }


def _first(*values: Any) -> Any:
    """The first value that is known."""
    return next((value for value in values if value is not None), None)


def _table_values(facts: LoadFacts) -> Values:
    tables = facts.fit.tables
    if not tables:
        return {key: None for key in ("breakdown_tables", "breakdown_objects", "breakdown_is_plan", "plan_fits")}
    last = tables[-1]
    devices = {name: row for name, row in last.items() if "free" in row}
    host = [table.get("Host") for table in tables]
    first_row = next(iter(devices.values()), None)
    over = [1 for row in devices.values() if row["self"] is not None and row["free"] is not None and row["self"] > row["free"]]
    plan = any((row.get("unaccounted") or 0) < -2 for row in devices.values()) if devices else None
    unaccounted = {name: row["unaccounted"] for name, row in devices.items()}
    return {
        "breakdown_tables": facts.fit.tables_seen,
        "breakdown_objects": facts.fit.objects or None,
        "breakdown_is_plan": plan,
        "plan_fits": not over if plan else None,
        "rows_over_free": len(over) if devices else None,
        "table1_cuda0_mib": tables[0].get("CUDA0"),
        "table2_cuda0_mib": tables[1].get("CUDA0") if len(tables) > 1 else None,
        "host_breakdown_mib": next((row for row in reversed(host) if row), None),
        "host_self_first_mib": (tables[0].get("Host") or {}).get("self"),
        "host_self_last_mib": (last.get("Host") or {}).get("self"),
        "self_sum_mib": total([row["self"] for row in devices.values()]),
        "model_sum_mib": total([row["model"] for row in devices.values()]),
        "unaccounted_mib": next(iter(unaccounted.values())) if len(unaccounted) == 1 else (unaccounted or None),
        "row0_unaccounted_computed_mib": _unaccounted(first_row),
    }


def _unaccounted(row: dict[str, int | None] | None) -> int | None:
    """total - free - self of a device row, MiB."""
    if row is None:
        return None
    whole, free, own = row["total"], row["free"], row["self"]
    return None if whole is None or free is None or own is None else whole - free - own


def _extra_values(facts: LoadFacts, placement: Placement) -> Values:
    extra = facts.extra
    rows = extra.layer_rows
    keys: tuple[str, ...] = (
        "bpw",
        "params_b",
        "devices_found",
        "verbosity",
        "repacked_tensors",
        "mtp_tail_layer",
        "pipeline_copies",
        "n_slots",
    )
    keys += ("n_parallel", "n_max", "layers_skipped_from", "working_set_warning")
    spans = any(block.spans() for block in facts.blocks)
    verbosity = extra.values.get("verbosity")
    silent = not facts.fit.tables and not any(block.weights for block in facts.blocks)
    return {
        **{key: extra.values.get(key) for key in keys},
        "model_size_gib": placement.model_size_gib,
        "build_number": placement.build_number,
        "build_commit": placement.build_commit,
        "overrides_seen": dict(extra.overrides) or None,
        "overrides_mib": dict(extra.override_mib) or None,
        "overrides_complete": False if extra.overrides_cut else None,
        "overridden_to_host": sum(n for name, n in extra.overrides.items() if is_host(name)) or None,
        "estimate_device_mib": dict(extra.estimates) or None,
        "layer_rows": len(rows) or None,
        "layer_weights_sum_mib": kept(math.fsum(row[0] for row in rows)) if rows else None,
        "layer_cache_sum_mib": kept(math.fsum(row[1] for row in rows)) if rows else None,
        "mmap": extra.mmap if extra.mmap is not None else (True if spans else None),
        "mtp_tensors_used": facts.partial[0] if facts.partial else None,
        "tensors_in_file": facts.partial[1] if facts.partial else None,
        "needs_verbosity": 4 if verbosity is not None and verbosity < 4 and silent else None,
    }


def _state_values(facts: LoadFacts, requests: RequestFacts) -> Values:
    state, extra = facts.state, facts.extra
    status = state.status()
    if status is None and any(request.predicted_ms is not None for request in requests.requests):
        status = "loaded"
    if status == "loaded" and extra.values.get("spec_disabled") and not any(request.drafted for request in requests.requests):
        status = "degraded"  # up, but without the speculation that was asked for
    draft = next((block.path for block in facts.blocks if block.kind == "draft" and block.path), None)
    drafted = any(request.drafted for request in requests.requests)
    active = True if drafted else extra.values.get("spec_active")
    if status == "degraded" and extra.values.get("spec_requested") and not drafted:
        active = False
    types = extra.values.get("spec_types")
    return {
        "status": status,
        "failed_at": state.failed_at if status in ("failed", "degraded") else None,
        "fail_device": state.fail_device,
        "fail_mib": state.fail_mib,
        "fail_bytes": state.fail_bytes,
        "first_error_s": state.first_error_s,
        "error_lines": state.error_lines,
        "pinned_fallback_mib": state.pinned_mib,
        "model_path": state.model_path or next((b.path for b in facts.blocks if b.kind == "target" and b.path), None),
        "draft_model": draft,
        "spec_requested": extra.values.get("spec_requested"),
        "spec_active": active,
        "spec_type": ",".join(types) if types else None,
    }
