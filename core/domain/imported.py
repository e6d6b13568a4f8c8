"""What another tool's output stands for in the matrix: pure mapping from a reading to cells, and what a reading lacks.

Conservative: only a decode rate makes a cell; draft length, streams and acceptance stay None where the reading does not say them.
Imported cells are compared within their own file only. They are never evidence of a worksheet, so no keep can rest on one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Values = dict[str, Any]
UNKNOWN_PLACE = {"label": "placement not recorded", "layers": None, "host_mib": None, "host_share": None, "state": "unknown"}
_VERDICTS = {"wins": "wins", "loses": "loses", "tie": "no-difference", "noise": "no-difference"}
FASTEST = 1e7  # tok/s; above it no rate is believed
_DECODE = "decode rate"
_WHOLE_RUN = "output rate of the whole run, prompts included"
NO_CELLS = {
    "metrics": "counters of a server since its start: no decode rate of one arm",
    "vllm": "log windows over a changing number of requests: no decode rate of one arm",
    "sglang": "log windows over a changing number of requests: no decode rate of one arm",
    "sweep_bench": "a curve over context depth, without a baseline and a draft beside it",
    "load_log": "no finished request stands in it: a placement, no decode rate",
    "cli_error": "the engine refused its arguments: nothing ran",
    "version_strings": "builds only",
    "report": "published figures: they belong to the transcribed source, not to imports",
}


def whole(value: Any, low: int, high: int) -> int | None:
    """A whole number within bounds, else None: what a file claims beyond them is not believed."""
    return value if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high else None


def real(value: Any, low: float, high: float) -> float | None:
    """A finite number within bounds, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value) if low <= value <= high else None


def claimed(value: Any) -> float | None:
    """A number as the file claims it, believable or not; None where there is none."""
    return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)


def words(value: Any, limit: int = 200) -> str | None:
    """A text from a file on one line, shortened; None where there is none."""
    text = " ".join("".join(ch if ch.isprintable() else " " for ch in str(value)).split()) if value is not None else ""
    return (text if len(text) <= limit else text[: limit - 1] + "…") or None


def cell(tok_per_s: Any, n_max: Any, **more: Any) -> list[dict[str, Any]]:
    """One cell, or none where there is no rate. `n_max` 0: speculation off, None: not told.

    A rate or an acceptance that cannot be is kept as the file claims it: the matrix shows such a cell as invalid.
    """
    rate = claimed(tok_per_s)
    if rate is None:
        return []
    low, high = real(more.get("tok_per_s_min"), 1e-6, rate), real(more.get("tok_per_s_max"), rate, FASTEST)
    share = claimed(more.get("accept_share"))
    draft = whole(n_max, 0, 1024)
    return [
        {
            "model": words(more.get("model")),
            "build": words(more.get("build"), 80),
            "settings": words(more.get("settings")) or "",
            "context": whole(more.get("context"), 1, 1 << 40),
            "workload": words(more.get("workload")),
            "placement": more.get("placement") or UNKNOWN_PLACE,
            "n_max": draft,
            "c": whole(more.get("c"), 1, 1 << 20),
            "tok_per_s": rate,
            "tok_per_s_min": low if high is not None else None,
            "tok_per_s_max": high if low is not None else None,
            "n": whole(more.get("n"), 1, 1 << 40),
            "accept_share": share if draft != 0 else None,
            "accept_denominator": (more.get("accept_denominator") or "denominator not recorded")
            if share is not None and draft != 0
            else None,
            "a": real(more.get("a"), 1.0, (draft or 1024) + 1.0) if draft != 0 else None,
            "d_ms": real(more.get("d_ms"), 0.0, 1e9) if draft != 0 else None,
            "verdict": more.get("verdict"),
            "basis": more.get("basis", _DECODE),
        }
    ]


def _proposed(values: Values) -> str:
    drafted = whole(values.get("drafted"), 1, 1 << 62)
    return f"of {drafted} proposed" if drafted else "of proposed"


def _build(values: Values) -> str | None:
    """As the matrix writes a build: “b5163 (7d20c4e1)”; numbers 0 and 1 are placeholders."""
    number, commit = whole(values.get("build_number"), 2, 1 << 40), words(values.get("build_commit"), 40)
    return " ".join(part for part in (f"b{number}" if number else "", f"({commit})" if commit else "") if part) or None


def _place(values: Values) -> dict[str, Any]:
    """Placement of a load log by its bytes; the reader's own reason where they do not decide."""
    host, part, spilled = values.get("host_mib"), real(values.get("host_share"), 0.0, 1.0), values.get("spilled")
    more = {"layers": None, "host_mib": host, "host_share": part}
    if values.get("host_only"):
        return {"label": "host only (no GPU)", "state": "host-only", **more}
    if spilled is None:
        return {"label": f"unknown: {values.get('spill_reason') or 'the log does not say'}", "state": "unknown", **more}
    if not spilled:
        return {"label": "zero spill", "state": "resident", **more}
    share = f" ({part:.0%} of weights)" if part is not None else ""
    return {
        "label": f"{host:.0f} MiB on the host{share}" if host is not None else f"weights on the host{share}",
        "state": "spilled",
        **more,
    }


def _llama_bench(values: Values) -> list[dict[str, Any]]:
    """Generation rows: the tool never speculates, so each is a baseline at one stream. Prompt and mixed rows are no decode rates."""
    found = []
    for row in values.get("rows") or []:
        if not row.get("n_gen") or row.get("n_prompt"):
            continue
        moe = whole(row.get("n_cpu_moe"), 1, 10_000)
        names = (("ngl", "n_gpu_layers"), ("threads", "threads"), ("ubatch", "n_ubatch"), ("fa", "flash_attn"))
        settings = ", ".join(f"{name} {row[key]}" for name, key in names if row.get(key) is not None)
        depth = f" at depth {row['n_depth']}" if row.get("n_depth") else ""
        place = {**UNKNOWN_PLACE, "label": f"{moe} layers' experts on the host", "layers": moe, "state": "spilled"} if moe else None
        found += cell(
            row.get("tps"), 0, model=row.get("model"), build=_build(values), settings=settings, workload=f"{row['test']}{depth}", c=1,
            n=row.get("samples"), placement=place,
        )  # fmt: skip
    return found


def _batched_bench(values: Values) -> list[dict[str, Any]]:
    """Generation totals over B streams; the tool never speculates."""
    found = []
    for row in values.get("rows") or []:
        streams = whole(row.get("B"), 1, 1 << 20)
        if streams:
            found += cell(row.get("S_TG_tps"), 0, model=values.get("model"), workload=f"pp {row.get('PP')}, tg {row.get('TG')}", c=streams)
    return found


def _server(values: Values, **known: Any) -> list[dict[str, Any]]:
    """The arm with drafts and, where the file holds one, its baseline. A lone arm is a baseline only where nothing points to drafts."""
    h_ms = real(values.get("H_ms"), 1e-6, 1e12) if values.get("base_predicted_n") is not None else None
    shared = {"context": values.get("n_ctx"), **known}
    found = cell(1000.0 / h_ms, 0, **shared) if h_ms else []
    cost = real(values.get("cost_per_token_ms"), 1e-6, 1e12)
    median = values.get("tps_median") if values.get("tps_min") is not None else None
    rate = median if median is not None else (1000.0 / cost if cost else None)
    drafting = values.get("drafted") is not None or values.get("spec_active") or values.get("spec_type") not in (None, "none")
    n_max = (values.get("n_max") or values.get("n_max_inferred")) if drafting else 0
    spread = {"tok_per_s_min": values.get("tps_min"), "tok_per_s_max": values.get("tps_max"), "n": values.get("requests")}
    accepted = {"accept_share": values.get("accept_share"), "accept_denominator": _proposed(values), "a": values.get("a")}
    verdict = _VERDICTS.get(values.get("verdict") or "")
    return found + cell(rate, n_max or (None if drafting else 0), **spread, **accepted, d_ms=values.get("D_ms"), verdict=verdict, **shared)


def _load_log(values: Values) -> list[dict[str, Any]]:
    """A server's log from its start: requests, if it holds any, with the model and the placement it was loaded to."""
    path = str(values.get("model_path") or "").replace("\\", "/").rpartition("/")[2]
    return _server(
        values,
        model=path.removesuffix(".gguf"),
        build=_build(values),
        placement=_place(values),
        c=1 if values.get("n_slots") == 1 else None,
    )


def _speculative_tool(values: Values) -> list[dict[str, Any]]:
    """One prompt, one stream; the target-only arm beside it is its baseline unless the lengths are too far apart to compare."""
    base = cell(values.get("base_tps"), 0, c=1, n=1, settings="" if values.get("comparable") is not False else "another length")
    accepted = {"accept_share": values.get("accept_share"), "accept_denominator": _proposed(values), "a": values.get("a")}
    return base + cell(values.get("tps"), values.get("n_draft"), c=1, n=1, **accepted)


def _bench_client(values: Values) -> list[dict[str, Any]]:
    """Rates per request as the client saw them; without drafted tokens the file does not say whether speculation was on."""
    spread = {"tok_per_s_min": values.get("tps_min"), "tok_per_s_max": values.get("tps_max"), "n": values.get("requests")}
    accepted = {"accept_share": values.get("accept_share"), "accept_denominator": _proposed(values), "a": values.get("a")}
    return cell(
        values.get("tps_median"), values.get("n_max_inferred") or None, **spread, **accepted, basis="rate per request, as the client saw it"
    )


def _vllm_bench(values: Values) -> list[dict[str, Any]]:
    """Output rate over all streams. No word on drafts is no proof that there were none."""
    accepted = {"accept_share": values.get("accept_share"), "accept_denominator": _proposed(values)}
    return cell(
        values.get("out_tps"),
        values.get("n_max") or None,
        c=values.get("concurrency"),
        n=values.get("requests"),
        **accepted,
        basis=_WHOLE_RUN,
    )


def _speed_bench(values: Values) -> list[dict[str, Any]]:
    """One pair a category where the file compares two runs; a single run says only whether tokens were drafted."""
    found = []
    for row in values.get("rows") or []:
        name = {"workload": row.get("category"), "basis": "mean of the rates per request"}
        accepted = {"accept_share": row.get("spec_accept_share", row.get("accept_share")), "accept_denominator": _proposed(row)}
        found += cell(row.get("base_tps"), 0, **name)
        found += cell(row.get("spec_tps"), None, **accepted, **name)
        found += cell(row.get("tps"), 0 if row.get("drafted") == 0 else None, **accepted, n=row.get("samples"), **name)
    return found


def _spec_bench(values: Values) -> list[dict[str, Any]]:
    """One row a task; how long the drafts were allowed to be is not printed."""
    found = []
    for row in values.get("rows") or []:
        name = {"workload": row.get("task"), "settings": row.get("stage") or "", "basis": "tokens over time of one task"}
        share = {"accept_share": row.get("accept_share"), "accept_denominator": _proposed(row), "a": row.get("a")}
        found += cell(row.get("tps"), None, c=1, n=1, **share, **name)
    return found


def _timings(values: Values) -> list[dict[str, Any]]:
    """A reply's own timings; the draft length is not among them, and a reply without drafts does not say that they were off."""
    cost = real(values.get("cost_per_token_ms"), 1e-6, 1e12)
    share = {"accept_share": values.get("accept_share"), "accept_denominator": _proposed(values), "a": values.get("a")}
    return cell(1000.0 / cost if cost else None, None, **share)


_MAPPINGS: dict[str, Callable[[Values], list[dict[str, Any]]]] = {
    "llama_bench": _llama_bench,
    "batched_bench": _batched_bench,
    "server_log": _server,
    "load_log": _load_log,
    "speculative_tool": _speculative_tool,
    "bench_client": _bench_client,
    "vllm_bench": _vllm_bench,
    "speed_bench": _speed_bench,
    "spec_bench": _spec_bench,
    "timings_json": _timings,
}


def cells_of(kind: str, values: Values) -> list[dict[str, Any]]:
    """The cells a reading stands for, in the file's order; empty for kinds without decode rates by arm."""
    mapping = _MAPPINGS.get(kind)
    return mapping(values) if mapping else []


def why_no_cells(kind: str) -> str:
    """Why a reading of this kind stands for no cell."""
    return NO_CELLS.get(kind, "no decode rate was found in it")


def missing_of(one: dict[str, Any]) -> list[str]:
    """What a cell does not say and the matrix would want."""
    names = {"model": "model", "build": "engine build", "context": "context length", "c": "concurrency", "workload": "workload"}
    lacking = [label for key, label in names.items() if one[key] is None]
    lacking += ["n_max"] if one["n_max"] is None else []
    return lacking + (["acceptance"] if one["n_max"] != 0 and one["accept_share"] is None else [])
