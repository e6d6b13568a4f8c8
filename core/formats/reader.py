"""The entry: reads what any of the known engines and tools printed, tells its kind, and gives its figures with units and null rules.

Bytes in, figures out: no file is opened here, one pass, linear time, bounded memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from core.errors import OutputNotUnderstood
from core.formats import (
    bench_tables,
    checks,
    llama_bench,
    llama_bench_values,
    load_checks,
    load_values,
    metrics,
    server_log,
    speed_bench,
    timings_json,
)
from core.formats.detect import Scan, kind_of
from core.formats.keys import KEYS
from core.formats.reading import Reading

__all__ = ["Reading", "read"]

Values = dict[str, Any]
Maker = Callable[[Scan, "Scan | None"], "tuple[Values, list[str]] | None"]
_LOGS = ("load_log", "server_log", "cli_error")


def read(data: bytes | Iterable[bytes], *, companion: bytes | None = None, kind: str | None = None) -> Reading:
    """Reads one input (`data` whole or as a stream of pieces of any size).

    `companion` is a second output of the same run: standard error, the recorded command, or for `metrics` the reading before the run.
    `kind` asks for one kind instead of detecting it. Raises OutputNotUnderstood, with one sentence, where the input is none of these.
    """
    if kind is not None and kind not in KEYS:
        raise OutputNotUnderstood(f"“{str(kind)[:40]}” is no kind of output.", hint=f"Known: {', '.join(KEYS)}.")
    scan = Scan().run(data)
    found = kind or kind_of(scan)
    if found is None:
        raise _not_understood(scan)
    beside = Scan().run(companion) if companion else None
    if beside is not None and found in _LOGS:
        scan.run(companion or b"")  # the other stream of the same run: same server, same blocks
    made = _MAKERS[found](scan, beside)
    if made is None:
        raise OutputNotUnderstood(f"This was to be read as {found}, but nothing in it is output of that kind.", hint=_HINT)
    values, warnings = made
    return Reading(found, {**dict.fromkeys(KEYS[found]), **values}, _notes(scan, found) + warnings)


_HINT = "Nothing was changed. Check the file, or name its kind."


def _not_understood(scan: Scan) -> OutputNotUnderstood:
    """One sentence on why an input could not be read."""
    if scan.size == 0:
        return OutputNotUnderstood("The file is empty.", hint=_HINT)
    if scan.too_long:
        return OutputNotUnderstood("The document is too long, and its beginning is no output of a known tool.", hint=_HINT)
    control = sum(byte < 9 or 13 < byte < 27 or 27 < byte < 32 or byte == 127 for byte in scan.head[:4096])
    invalid = scan.head[:4096].decode("utf-8", "replace").count("\ufffd")
    if control + invalid > 0.05 * max(1, len(scan.head[:4096])):
        return OutputNotUnderstood("This is binary data, not text that an engine printed.", hint=_HINT)
    return OutputNotUnderstood("Nothing in this text is output of a known engine or tool.", hint=_HINT)


def _notes(scan: Scan, kind: str) -> list[str]:
    """Sentences about the input as a whole."""
    notes = []
    if scan.load.runs > 1 and kind == "load_log":
        notes.append(f"{scan.load.runs} runs in one file: the figures are those of the last.")
    if scan.too_long:
        notes.append("The document is too long: only its beginning was read.")
    return notes


def _load_log(scan: Scan, _: Scan | None) -> tuple[Values, list[str]] | None:
    if kind_of(scan) not in ("load_log", "server_log"):
        return None
    _use_trace(scan)
    values = load_values.values_of(scan.load, scan.requests)
    return values, [*load_checks.warnings_of(scan.load), *checks.request_warnings(scan.requests)]


def _server_log(scan: Scan, _: Scan | None) -> tuple[Values, list[str]] | None:
    if kind_of(scan) not in ("load_log", "server_log"):
        return None
    _use_trace(scan)
    load = load_values.values_of(scan.load, scan.requests)
    values = server_log.values_of(scan.requests)
    extra = scan.load.extra.values
    values.update(n_ctx=load["n_ctx"] if load["n_ctx"] is not None else extra.get("n_ctx_slot"))
    values.update(layers_offloaded=load["layers_offloaded"], status=load["status"])
    values["spec_type"] = values.get("spec_type") or load["spec_type"]
    return values, checks.request_warnings(scan.requests)


def _use_trace(scan: Scan) -> None:
    """The library's own summary stands in where no server printed a request."""
    if not scan.requests.requests and scan.requests.trace.predicted_ms is not None:
        scan.requests.requests.append(scan.requests.trace)


def _llama_bench(scan: Scan, beside: Scan | None) -> tuple[Values, list[str]] | None:
    table = scan.table("test", "t/s")
    rows = scan.bench_rows
    if not rows:
        rows = [row for one in scan.tables.tables if one.column("test") is not None for row in llama_bench.rows_of_table(one)]
    errors = scan.notes.errors + (beside.notes.errors if beside else [])
    error = llama_bench.error_in(errors)
    if not rows and error is None and not scan.cut:
        return None
    build = scan.notes.builds[-1] if scan.notes.builds else {"build_number": None, "build_commit": None}
    columns = scan.bench_columns if scan.bench_rows else (len(table.header) if table else None)
    values = llama_bench_values.values_of(
        rows,
        build=(build["build_number"], build["build_commit"]),  # type: ignore[arg-type]
        cut=scan.cut,
        error=error,
        columns=columns,
        table=scan.bench_table,
    )
    return values, llama_bench_values.warnings_of(rows)


def _batched(scan: Scan, _: Scan | None) -> tuple[Values, list[str]] | None:
    table = scan.table("PP", "TG", "B", "T_TG s")
    rows = [row for row in scan.batched if "B" in row] or (bench_tables.batched_rows(table) if table else [])
    return (bench_tables.batched_values(rows), bench_tables.batched_warnings(rows)) if rows else None


def _sweep(scan: Scan, _: Scan | None) -> tuple[Values, list[str]] | None:
    table = scan.table("PP", "TG", "N_KV", "T_TG s", without="B")
    rows = [row for row in scan.batched if "B" not in row] or (bench_tables.batched_rows(table) if table else [])
    settings = scan.settings.values
    named = {key: settings.get(key) for key in ("n_kv_max", "n_ubatch", "n_gpu_layers", "n_threads", "n_batch")}
    return ({"rows": rows, "model": None, **named}, bench_tables.batched_warnings(rows)) if rows else None


def _spec_bench(scan: Scan, _: Scan | None) -> tuple[Values, list[str]] | None:
    table = scan.table("rounds", "a.len")
    rows = scan.spec or (bench_tables.spec_rows(table) if table else [])
    return ({"rows": rows}, bench_tables.spec_warnings(rows)) if rows else None


def _speed_bench(scan: Scan, _: Scan | None) -> tuple[Values, list[str]] | None:
    return ({"rows": scan.speed}, speed_bench.warnings_of(scan.speed)) if scan.speed is not None else None


def _timings(scan: Scan, _: Scan | None) -> tuple[Values, list[str]] | None:
    return (timings_json.values_of(scan.timings), timings_json.warnings_of(scan.timings)) if scan.timings else None


def _metrics(scan: Scan, beside: Scan | None) -> tuple[Values, list[str]] | None:
    if not scan.metrics.current:
        return None
    after = scan.metrics.result()
    if beside is not None and beside.metrics.current:
        after = metrics.difference(beside.metrics.result(), after)
    notes = [f"{scan.metrics.readings} readings in one file: the figures are the last less the first."] if scan.metrics.readings > 1 else []
    return metrics.values_of(after), notes + metrics.warnings_of(after)


def _cli_error(scan: Scan, _: Scan | None) -> tuple[Values, list[str]] | None:
    if not scan.cli.refused:
        return None
    return {**scan.cli.result(), "gpu_total_mib": scan.load.extra.values.get("vram_total_mib")}, []


def _report(scan: Scan, _: Scan | None) -> tuple[Values, list[str]] | None:
    return (dict(scan.report), []) if scan.report else None


def _versions(scan: Scan, _: Scan | None) -> tuple[Values, list[str]] | None:
    return ({"builds": scan.notes.builds}, []) if scan.notes.builds else None


_MAKERS: dict[str, Maker] = {
    "load_log": _load_log,
    "server_log": _server_log,
    "llama_bench": _llama_bench,
    "batched_bench": _batched,
    "sweep_bench": _sweep,
    "spec_bench": _spec_bench,
    "speed_bench": _speed_bench,
    "timings_json": _timings,
    "metrics": _metrics,
    "cli_error": _cli_error,
    "report": _report,
    "version_strings": _versions,
    "speculative_tool": lambda scan, _: (scan.tool.result(), scan.tool.warnings()) if scan.tool.values else None,
    "bench_client": lambda scan, _: (scan.client.result(), scan.client.warnings()) if scan.client.found else None,
    "vllm": lambda scan, _: (scan.vllm.result(), scan.vllm.warnings()) if scan.vllm.found else None,
    "vllm_bench": lambda scan, _: (scan.serve.result(), scan.serve.warnings()) if scan.serve.found else None,
    "sglang": lambda scan, _: (scan.sglang.result(), scan.sglang.warnings()) if scan.sglang.windows or scan.sglang.average else None,
}
