"""What a llama-bench file says as a whole: build, backend, model, the cost curve of verification, and what cannot be used."""

from __future__ import annotations

from typing import Any

from core.formats import llama_bench as bench
from core.formats.numbers import count

Row = dict[str, Any]
_NO_DEVICE = {"BLAS", "CPU", "RPC"}


def _shared(rows: list[Row], field: str) -> Any:
    """A field that all rows share, from rows with named fields."""
    return bench.same([row["fields"].get(field) for row in rows]) if rows and all("fields" in row for row in rows) else None


def _backend(rows: list[Row]) -> Row:
    """`backends` lists what was compiled in; what was used is known only where that leaves one."""
    printed = _shared(rows, "backends") or bench.same([row.get("backend") for row in rows])
    if not printed:
        return {"backend": None, "backends_compiled": None, "backend_used": None}
    compiled = [name.strip() for name in str(printed).split(",") if name.strip()]
    devices = [name for name in compiled if name not in _NO_DEVICE]
    layers = bench.same([row.get("n_gpu_layers") for row in rows])
    if layers == 0 or not devices:
        used = "CPU" if layers == 0 else compiled[0] if len(compiled) == 1 else None
    else:
        used = devices[0] if len(devices) == 1 else None
    return {"backend": str(printed)[:128], "backends_compiled": compiled, "backend_used": used}


def _build(rows: list[Row], printed: tuple[int | None, str | None]) -> Row:
    """Build from the fields, else from the `build:` line below a table. Number 0 or 1: not set by the packager."""
    number, commit = count(_shared(rows, "build_number")), _shared(rows, "build_commit")
    number = number if number is not None and number > 1 else None
    return {"build_number": number if commit else printed[0], "build_commit": str(commit)[:64] if commit else printed[1]}


def values_of(
    rows: list[Row], *, build: tuple[int | None, str | None], cut: bool, error: str | None, columns: int | None, table: str | None
) -> Row:
    """The keys of kind `llama_bench`; sizes in bytes, MiB or GiB as the key says."""
    cost = bench.verify_cost(rows)
    shares, never = bench.break_even(cost)
    size_mib, params_m = bench.same([row.get("size_mib") for row in rows]), bench.same([row.get("params_m") for row in rows])
    size_bytes, params = count(_shared(rows, "model_size")), count(_shared(rows, "model_n_params"))
    status = None
    if cut or error:
        status = "partial" if rows else "failed"
    out: Row = {
        "status": status,
        "error": error,
        "n_gpu_layers": bench.same([row.get("n_gpu_layers") for row in rows]),
        "flash_attn": bench.same([row.get("flash_attn") for row in rows]),
        "threads": bench.same([row.get("threads") for row in rows]),
        "no_op_offload": _no_op_offload(rows),
        "model_size_bytes": size_bytes,
        "size_gib": round(size_mib / 1024, 6) if size_mib is not None else (round(size_bytes / 1024**3, 6) if size_bytes else None),
        "params_b": round(params_m / 1000, 9) if params_m is not None else (round(params / 1e9, 9) if params else None),
        "V_over_V1": cost,
        "breakeven_accept_if_D_zero": shares,
        "n_max_never_pays": never,
        "cost_recomputed": bench.cost_recomputed(rows),
        "cv_limit": bench.CV_LIMIT,
        "unusable": bench.unusable(rows),
        "columns": columns,
        "table": table,
        **_backend(rows),
        **_build(rows, build),
    }
    out["rows"] = [{key: value for key, value in row.items() if key != "fields"} for row in rows]
    return out


def _no_op_offload(rows: list[Row]) -> bool | None:
    """Printed as a number although it is a switch."""
    value = _shared(rows, "no_op_offload")
    if isinstance(value, bool) or value is None:
        return value
    known = count(value)
    return bool(known) if known is not None else str(value).lower() == "true"


def warnings_of(rows: list[Row]) -> list[str]:
    """The first check that fails: rate, time and tokens of a row must belong together."""
    for row in rows:
        fields = row.get("fields") or {}
        tokens, ns, rate = row["n_prompt"] + row["n_gen"], row.get("avg_ns"), row.get("tps")
        deviation = row.get("sd") or 0.0
        if fields and ns and rate and not 0.98 <= rate / (1e9 * tokens / ns) <= 1.02 + 2 * (deviation / rate) ** 2:
            return [f"{row['test']}: {rate} tokens/s does not follow from {tokens} tokens in {ns} ns."]
        if rate and deviation > 2 * rate:
            return [f"{row['test']}: the spread {deviation} is more than twice the rate {rate}."]
    return []
