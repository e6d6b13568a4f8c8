"""One pass over an input with every reader listening; what was heard decides the kind. File names and extensions play no part."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from core.formats import bench_tables, json_text, llama_bench, speed_bench, timings_json
from core.formats.bench_client import ClientFacts
from core.formats.cli_error import CliFacts
from core.formats.dispatch import Dispatcher
from core.formats.lines import Line, chunks_of, clean, decoded, whole_lines
from core.formats.load_log import LoadFacts
from core.formats.metrics import MetricsFacts
from core.formats.requests import RequestFacts
from core.formats.sglang_log import SglangFacts
from core.formats.speculative_tool import ToolFacts
from core.formats.tables import Table, TableFacts
from core.formats.version import build_of
from core.formats.vllm_bench import ServeFacts
from core.formats.vllm_log import VllmFacts

HEAD = 64 * 1024  # bytes looked at to tell documents (JSON, CSV, SQL, printed tables) from logs
_JSON_START = re.compile(r'^(?:data: ?)?(?:\{\s*("|$|\})|\[\s*(\{|\[|$|\]))')
_CSV_START = re.compile(r'(?:^|,)"?build_commit"?,|,"?avg_ts"?(?:,|$)')
_SQL_START = re.compile(r"^(?:CREATE TABLE|INSERT INTO) ", re.IGNORECASE)
_LOG_OBJECT = re.compile(r'^\{.{0,40}"type": ?"(?:log|fit_memory_breakdown)"')
_OTHER_LOG = re.compile(r'^\{"(?:tid|timestamp)": ?')


class NoteFacts:
    """Builds named and error sentences, kept beside the other readers."""

    def __init__(self) -> None:
        self.builds: list[dict[str, object]] = []
        self.errors: list[str] = []

    def handlers(self) -> dict[str, str]:
        """Keyword in a line -> name of the method that reads such lines."""
        return {"build": "on_build", "version": "on_build", "rror": "on_error"}

    def on_build(self, line: Line) -> None:
        """One build string."""
        build = build_of(line.text)
        if build is not None and len(self.builds) < 1000:
            self.builds.append({"build_number": build[0], "build_commit": build[1]})

    def on_error(self, line: Line) -> None:
        """An error sentence of a tool."""
        if len(self.errors) < 100:
            self.errors.append(line.text)


class Scan:
    """Everything that was heard in one input."""

    def __init__(self) -> None:
        self.load, self.requests, self.tables, self.settings = LoadFacts(), RequestFacts(), TableFacts(), bench_tables.SettingFacts()
        self.tool, self.client, self.vllm, self.sglang = ToolFacts(), ClientFacts(), VllmFacts(), SglangFacts()
        self.serve, self.metrics, self.cli, self.notes = ServeFacts(), MetricsFacts(), CliFacts(), NoteFacts()
        parts: list[Any] = [self.requests, *self.load.collectors(), self.tables, self.settings, self.tool, self.client, self.vllm]
        self.dispatcher = Dispatcher([*parts, self.sglang, self.serve, self.metrics, self.cli, self.notes])
        self.bench_rows: list[dict[str, Any]] = []
        self.bench_columns: int | None = None
        self.bench_table: str | None = None
        self.batched: list[dict[str, Any]] = []
        self.spec: list[dict[str, Any]] = []
        self.speed: list[dict[str, Any]] | None = None
        self.timings: list[dict[str, Any]] = []
        self.report: dict[str, Any] | None = None
        self.cut = False
        self.too_long = False
        self.size = 0
        self.head = b""

    def run(self, data: bytes | Iterable[bytes]) -> Scan:
        """Listens to an input, once."""
        pieces = whole_lines(self._counted(data))
        head, rest = _take(pieces, HEAD)
        self.head = b"".join(head)[:HEAD]
        mode = mode_of(self.head)
        pieces = chain(head, rest)
        if mode == "log":
            for piece in pieces:
                self.dispatcher.piece(piece)
        elif mode == "jsonl":
            for piece in pieces:
                self._json_log(piece)
        else:
            self._document(pieces)
        return self

    def _counted(self, data: bytes | Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks_of(data):
            self.size += len(chunk)
            yield chunk

    def _json_log(self, piece: bytes) -> None:
        """A piece of a `--log-jsonl` log; objects other than messages may be breakdown tables."""
        if b"fit_memory_breakdown" in piece:
            for raw in piece.split(b"\n"):
                if b"fit_memory_breakdown" in raw:
                    for text in decoded(raw):
                        self._object_line(clean(text).text)
        self.dispatcher.piece(piece, jsonl=True)

    def _object_line(self, text: str) -> None:
        try:
            entry = json.loads(text)
        except (ValueError, RecursionError):
            return
        if isinstance(entry, dict) and entry.get("type") == "fit_memory_breakdown":
            self.load.fit.on_object(entry)

    def _document(self, pieces: Iterable[bytes]) -> None:
        """A document: read as a whole up to a bound; its lines are listened to as well, for messages around it."""
        lines: list[str] = []
        left = json_text.LARGEST
        for piece in pieces:
            if left <= 0:
                self.too_long = True
                break
            self.dispatcher.piece(piece)
            for raw in piece[:-1].split(b"\n"):
                text = clean(raw.decode("utf-8", "replace")[:left]).text
                left -= len(text) + 1
                lines.append(text)
        self._read_document(lines)

    def _read_document(self, lines: list[str]) -> None:
        self.speed = speed_bench.rows_of_text(lines)
        start = next((i for i, text in enumerate(lines) if starts_document(text)), 0)
        text = "\n".join(line.removeprefix("data: ") for line in lines[start:])
        if _SQL_START.match(lines[start] if lines else ""):
            self.bench_rows, self.bench_columns, self.bench_table = llama_bench.rows_of_sql(text)
        elif lines and _CSV_START.search(lines[start]):
            self.bench_rows, self.bench_columns = llama_bench.rows_of_csv(text)
        else:
            documents, whole = json_text.documents(text)
            self.cut = not whole
            for document in documents:
                self._object(document)

    def _object(self, document: Any) -> None:
        """One JSON object, by what it holds."""
        if not isinstance(document, dict):
            return
        row = llama_bench.row_of_fields(document)
        timings = timings_json.timings_of(document)
        batched, spec, speed = bench_tables.batched_row_of(document), bench_tables.spec_row_of(document), speed_bench.rows_of_json(document)
        if row:
            self.bench_columns = self.bench_columns or len(document)
            self.bench_rows.append(row)
        elif timings and len(self.timings) < 20_000:
            self.timings.append(timings)
        elif batched:
            self.batched.append(batched)
        elif spec:
            self.spec.append(spec)
        elif speed is not None:
            self.speed = speed
        elif document.get("provenance") == "transcribed":
            self.report = {key: document.get(key) for key in ("id", "source", "provenance")}
        else:
            self.serve.on_object(document)

    def table(self, *columns: str, without: str | None = None) -> Table | None:
        """The last table with rows that has all these columns."""
        for table in reversed(self.tables.tables):
            if (
                all(table.column(name) is not None for name in columns)
                and (without is None or table.column(without) is None)
                and table.rows
            ):
                return table
        return None


def _take(pieces: Iterator[bytes], least: int) -> tuple[list[bytes], Iterator[bytes]]:
    """(pieces of at least so many bytes, the rest)."""
    head: list[bytes] = []
    size = 0
    for piece in pieces:
        head.append(piece)
        size += len(piece)
        if size >= least:
            break
    return head, pieces


def starts_document(text: str) -> bool:
    """Whether a cleaned line begins a JSON, CSV or SQL document."""
    if _OTHER_LOG.match(text):
        return False
    return bool(_JSON_START.match(text) or _SQL_START.match(text) or _CSV_START.search(text))


def mode_of(head: bytes) -> str:
    """`log`, `jsonl` (a log of JSON objects) or `document`, from the first lines."""
    for raw in head.split(b"\n", 2000)[:2000]:
        for part in decoded(raw):
            text = clean(part[:4096]).text
            if _LOG_OBJECT.match(text):
                return "jsonl"
            if starts_document(text) or any(mark in text for mark in ("avg_pred_t/s", "decode_speedup")):
                return "document"
    return "log"


def kind_of(scan: Scan) -> str | None:
    """The kind, from the most specific evidence to the least; None where nothing was heard."""
    return _document_kind(scan) or _tool_kind(scan) or _log_kind(scan)


def _document_kind(scan: Scan) -> str | None:
    found = (
        ("llama_bench", scan.bench_rows),
        ("batched_bench", [row for row in scan.batched if "B" in row]),
        ("sweep_bench", scan.batched),
        ("spec_bench", scan.spec),
        ("speed_bench", scan.speed),
        ("timings_json", scan.timings),
        ("report", scan.report),
        ("llama_bench", scan.table("test", "t/s")),
        ("batched_bench", scan.table("PP", "TG", "B", "T_TG s")),
        ("sweep_bench", scan.table("PP", "TG", "N_KV", "T_TG s", without="B")),
        ("spec_bench", scan.table("rounds", "a.len")),
    )
    return next((kind for kind, evidence in found if evidence), None)


def _tool_kind(scan: Scan) -> str | None:
    found = (
        ("speculative_tool", scan.tool.values.get("n_drafted") is not None or (scan.tool.summaries and not scan.requests.requests)),
        ("bench_client", scan.client.found),
        ("vllm_bench", scan.serve.found),
        ("vllm", scan.vllm.windows or scan.vllm.v0),
        ("sglang", scan.sglang.windows or scan.sglang.average is not None),
        ("metrics", scan.metrics.current),
        ("cli_error", scan.cli.refused and not scan.requests.requests and not placed(scan)),
    )
    return next((kind for kind, evidence in found if evidence), None)


def placed(scan: Scan) -> bool:
    """Whether lines of a start-up were heard: buffers, fit, devices, failures."""
    load, extra = scan.load, scan.load.extra
    buffers = any(block.weights or block.kv or block.required_mib is not None for block in load.blocks)
    quiet = bool(load.evidence or load.state.failing or load.state.unresolved) and not scan.requests.requests
    return bool(buffers or load.fit.tables_seen or load.fit.values or extra.overrides or extra.gpu_info or extra.estimates or quiet)


def _log_kind(scan: Scan) -> str | None:
    load, requests = scan.load, scan.requests
    if placed(scan):
        return "load_log"
    if requests.requests or requests.statistics or requests.prompt_tokens_done is not None:
        return "server_log"
    state, extra = load.state, load.extra
    said = [value for key, value in extra.values.items() if key not in ("n_max",)]
    if load.blocks[0].n_ctx or state.ready or said or extra.layer_rows or load.compute_total_mib or state.pinned_mib or extra.layers_on:
        return "load_log"
    if scan.vllm.loads:
        return "vllm"
    if scan.notes.builds:
        return "version_strings"
    if requests.trace.predicted_ms is not None or scan.tool.base:
        return "server_log"
    return None
