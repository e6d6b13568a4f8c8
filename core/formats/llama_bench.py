"""llama-bench files since 2023: Markdown, CSV, JSON, JSON lines, SQL text (parsed, never run), by name. Cut-off files keep their rows.

Rates are tokens/s. A standard deviation of one repetition is unknown, also where 0.00 is printed.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Any

from core.formats.numbers import count, kept, number, signed_count
from core.formats.tables import Table

Row = dict[str, Any]
CV_LIMIT = 0.1  # spread over mean above which a figure without a warm-up cannot be used
_TEST = re.compile(r"^(?:pp ?(\d{1,9}))?\+?(?:tg ?(\d{1,9}))?(?: *@ *d(\d{1,9}))?$")
_RATE = re.compile(r"^([\d.]+)(?: *(?:±|\+/-|\ufffd+|Â±) *([\d.]+))?$")
_SIZE = re.compile(r"^([\d.]+) *(MiB|GiB|TiB|M|B|K|T)$")
_ERROR = re.compile(r"(?:^|: )error: (.{1,300})")
_MIB = {"MiB": 1.0, "GiB": 1024.0, "TiB": 1024.0 * 1024}
_MILLIONS = {"K": 1e-3, "M": 1.0, "B": 1e3, "T": 1e6}
_COLUMNS = set(
    "model size params backend ngl n_gpu_layers threads n_threads test t/s n_batch n_ubatch type_k type_v fa flash_attn mmap "
    "use_mmap sm split_mode mg main_gpu nkvo no_kv_offload dev devices ts tensor_split ot tensor_buft_overrides dio "
    "use_direct_io embd embeddings nopo no_op_offload noh no_host n_cpu_moe ncmoe cpu_mask cpu_strict poll defrag_thold "
    "load_mode lm lazy_mode repack fitt fit_target fitc fit_min_ctx n_depth f16_kv memory_type mmq mul_mat_q low_vram mla "
    "mla_attn amb attn_max_batch ser rtr fmoe fused_moe thp prio ger muge rcache sas cuda_params draft".split()
)


def row_of_test(text: str) -> Row | None:
    """`pp512`, `pp 256`, `tg128 @ d4096`, `pp512+tg128` → test, n_prompt, n_gen, n_depth (None where not printed)."""
    found = _TEST.match(text.strip())
    if found is None or not (found[1] or found[2]):
        return None
    n_prompt, n_gen = count(found[1] or 0), count(found[2] or 0)
    parts = [f"pp{n_prompt}" if found[1] else "", f"tg{n_gen}" if found[2] else ""]
    return {"test": "+".join(part for part in parts if part), "n_prompt": n_prompt, "n_gen": n_gen, "n_depth": count(found[3])}


def rows_of_table(table: Table) -> list[Row]:
    """Rows of a Markdown table; columns nobody knows go to `extra` as printed."""
    out = []
    for cells in table.rows:
        named = dict(zip(table.header, cells, strict=False))
        row = row_of_test(named.get("test", ""))
        rate = _RATE.match(named.get("t/s", ""))
        if row is None or rate is None:
            continue
        deviation = number(rate[2])
        row.update(tps=number(rate[1]), sd=deviation or None, n_gpu_layers=signed_count(named.get("ngl", named.get("n_gpu_layers"))))
        row.update(model=named.get("model"), backend=named.get("backend"), threads=count(named.get("threads", named.get("n_threads"))))
        row.update(size_mib=_scaled(named.get("size"), _MIB), params_m=_scaled(named.get("params"), _MILLIONS))
        row.update(n_ubatch=count(named.get("n_ubatch")), n_batch=count(named.get("n_batch")), n_cpu_moe=count(named.get("n_cpu_moe")))
        row["flash_attn"] = signed_count(named.get("fa", named.get("flash_attn")))
        row["extra"] = {name: text for name, text in named.items() if name.lower() not in _COLUMNS}
        out.append(row)
    return out


def _scaled(text: str | None, scale: dict[str, float]) -> float | None:
    found = _SIZE.match(text or "")
    value = number(found[1]) if found else None
    return round(value * scale[found[2]], 6) if found and value is not None and found[2] in scale else None


def _flag(value: Any) -> Any:
    """true/false, 0/1 or -1 (auto), also as text."""
    if isinstance(value, bool) or value is None:
        return value
    if str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    return signed_count(value)


def row_of_fields(fields: Row) -> Row | None:
    """One row of JSON, CSV or SQL by field name; unknown fields are passed over. None where it is no llama-bench row."""
    n_prompt, n_gen, tps = count(fields.get("n_prompt")), count(fields.get("n_gen")), number(fields.get("avg_ts"))
    if n_prompt is None or n_gen is None or "avg_ts" not in fields:
        return None
    samples = fields.get("samples_ns")
    samples = samples if isinstance(samples, list) else None
    single = samples is not None and len(samples) < 2
    parts = [f"pp{n_prompt}" if n_prompt else "", f"tg{n_gen}" if n_gen else ""]
    depth = count(fields.get("n_depth"))
    deviation = number(fields.get("stddev_ts"))
    return {
        "test": "+".join(part for part in parts if part),
        "n_prompt": n_prompt,
        "n_gen": n_gen,
        "n_depth": depth,
        "n_cpu_moe": count(fields.get("n_cpu_moe")),
        "tps": tps,
        "sd": None if single else deviation or None,
        "samples": len(samples) if samples is not None else None,
        "avg_ns": count(fields.get("avg_ns")),
        "n_gpu_layers": signed_count(fields.get("n_gpu_layers")),
        "model": str(fields.get("model_type"))[:256] if fields.get("model_type") else None,
        "n_ubatch": count(fields.get("n_ubatch")),
        "n_batch": count(fields.get("n_batch")),
        "threads": count(fields.get("n_threads")),
        "flash_attn": _flag(fields.get("flash_attn")),
        "tensor_buft_overrides": fields.get("tensor_buft_overrides"),
        "fields": fields,
    }


def _csv_rows(text: str) -> Iterator[list[str]]:
    """The rows of CSV up to the first that no reader of CSV takes (a field without end)."""
    try:
        yield from csv.reader(line[:65536] for line in text.splitlines())
    except csv.Error:
        return


def rows_of_csv(text: str) -> tuple[list[Row], int | None]:
    """(rows, number of columns) of CSV; every value may be quoted. A row that is cut is left out."""
    header: list[str] | None = None
    rows: list[Row] = []
    for cells in _csv_rows(text):
        if "avg_ts" in cells and "n_prompt" in cells:
            header = cells
        elif header and len(cells) == len(header):
            row = row_of_fields(dict(zip(header, cells, strict=True)))
            if row:
                rows.append(row)
    return rows, len(header) if header else None


_INSERT = re.compile(r"INSERT INTO (\w{1,64}) \(([^)]{1,4096})\)\s*VALUES\s*\(", re.IGNORECASE)
_LITERAL = re.compile(r"\s*(?:'((?:[^']|'')*)'|\"([^\"]*)\"|([^,'\")]{1,64}))\s*(,|\)|$)")


def rows_of_sql(text: str) -> tuple[list[Row], int | None, str | None]:
    """(rows, number of columns, table name) of `INSERT` statements: read as text, nothing is run."""
    rows: list[Row] = []
    columns, table = None, None
    for found in _INSERT.finditer(text):
        names = [name.strip() for name in found[2].split(",")]
        values = _literals(text, found.end(), len(names))
        columns, table = len(names), found[1]
        row = row_of_fields(dict(zip(names, values, strict=True))) if len(values) == len(names) else None
        if row:
            rows.append(row)
    return rows, columns, table


def _literals(text: str, at: int, most: int) -> list[str]:
    out: list[str] = []
    while len(out) < most:
        found = _LITERAL.match(text, at)
        if found is None:
            break
        quoted, double, bare = found[1], found[2], found[3]
        out.append(quoted.replace("''", "'") if quoted is not None else double if double is not None else bare.strip())
        at = found.end()
        if found[4] != ",":
            break
    return out


def error_in(lines: list[str]) -> str | None:
    """The tool's own error sentence, without paths; None where there is none."""
    for line in lines:
        found = _ERROR.search(line)
        if found:
            return found[1].split(" '")[0].split(': "')[0].strip().rstrip(".,:")
    return None


def same(values: list[Any]) -> Any:
    """The value all rows share; None where they differ."""
    return values[0] if values and all(value == values[0] for value in values) else None


def unusable(rows: list[Row]) -> list[str]:
    """Tests whose spread is too large to use."""
    return [row["test"] for row in rows if row.get("sd") and row.get("tps") and row["sd"] / row["tps"] > CV_LIMIT]


def cost_recomputed(rows: list[Row]) -> list[float] | None:
    """Cost of a token against the first row's, where one test was run on several models."""
    models = [row.get("model") for row in rows]
    if len(set(models)) < 2 or same([row["test"] for row in rows]) is None or not all(row.get("tps") for row in rows):
        return None
    return [round(rows[0]["tps"] / row["tps"], 6) for row in rows]


def verify_cost(rows: list[Row]) -> dict[str, float] | None:
    """Cost of a pass over n tokens against one: prompt rows of n tokens, or one prompt in micro-batches of n. None without n = 1."""
    prompts = [row for row in rows if row["n_prompt"] and not row["n_gen"] and row.get("tps")]
    if len({(row.get("model"), row.get("n_depth")) for row in prompts}) != 1:
        return None
    for key, fixed in (("n_prompt", "n_ubatch"), ("n_ubatch", "n_prompt")):
        sizes = [row.get(key) for row in prompts]
        if 1 in sizes and len(set(sizes)) == len(sizes) > 1 and None not in sizes and len({row.get(fixed) for row in prompts}) == 1:
            one = next(row for row in prompts if row[key] == 1)
            return {str(row[key]): round(row[key] / row["tps"] * one["tps"], 6) for row in prompts}
    return None


def break_even(cost: dict[str, float] | None) -> tuple[dict[str, float] | None, list[int] | None]:
    """({n_max: accepted share at which it pays if drafting were free}, n_max values that no acceptance can make pay)."""
    if not cost:
        return None, None
    shares = {int(n) - 1: kept((value - 1) / (int(n) - 1)) or 0.0 for n, value in cost.items() if int(n) > 1}
    return {str(n): share for n, share in shares.items()}, [n for n, share in shares.items() if share >= 1]
