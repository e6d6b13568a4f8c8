"""The start-up log of llama.cpp and ik_llama.cpp, 2023 to now: reads lines into facts. What they mean stands in `placement`.

Load blocks are told apart by order: a model line after context lines, or a named draft model, begins the next block.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from core.formats import load_extra
from core.formats.blocks import Block, device_index, parse_buffer
from core.formats.dispatch import Dispatcher, renew
from core.formats.failures import StateFacts
from core.formats.lines import Line
from core.formats.memory_fit import FitFacts
from core.formats.numbers import count, number
from core.formats.placement import Placement, placement_of
from core.formats.version import LOOSEST, build_of

_OFFLOADED = re.compile(r"offloaded +(\d+)/(\d+) layers to GPU")
_KV_SELF = re.compile(r"[Kk][Vv] self size *= *([\d.]+) Mi?B")
_CACHE = re.compile(r"\bsize = *([\d.]+) MiB \( *(\d+) cells, *(\d+) layers, *(\d+)(?:/\d+)? seqs(?: *(\d+) rs_seq)?\)")
_PART = re.compile(r"(\bK|\bV|\bR|\bS|c\^KV|kv\^T) \((\w{1,16})\): *([\d.]+) MiB")
_N_CTX = re.compile(r"\bn_ctx +=? *= *(\d+)")
_KV_SIZE = re.compile(r"kv_size = (\d+)")
_KV_TYPES = re.compile(r"type_k = '(\w{1,16})', type_v = '(\w{1,16})'")
_DRAFT = re.compile(r"loading draft model '([^']{1,4096})'")
_FREE = re.compile(r"using device (\S{1,200}) .{0,300}- +(\d+) MiB free")
_META = re.compile(r"loaded meta data with .{0,100} from (.{1,4096}?) \(version")
_PARTIAL = re.compile(r"partial load .{1,8}used (\d+) of (\d+) tensors")
_REQUIRED = re.compile(r"(?:mem required|system memory used) *= *([\d.]+) Mi?B")
_VRAM = re.compile(r"VRAM used *[:=] *([\d.]+) Mi?B(?: \(model: *([\d.]+) Mi?B)?")
_COMPUTE_2023 = re.compile(r"compute buffer total size *= *([\d.]+) Mi?B")
_NEW_MODEL = ("offloading", "loading model tensors", "ggml ctx size", "loaded meta data")


class LoadFacts:
    """Everything a load log says, in order. Feed it cleaned lines through `handlers`."""

    def __init__(self) -> None:
        self.blocks: list[Block] = [Block()]
        self.state = StateFacts()
        self.fit = FitFacts()
        self.extra = load_extra.ExtraFacts()
        self.build: tuple[int | None, str | None] = (None, None)
        self.compute_total_mib: float | None = None
        self.partial: tuple[int, int] | None = None
        self.seqs: int | None = None
        self.rs_seq: int | None = None
        self.runs = 1
        self.evidence = 0
        self._spellings: set[int] = set()

    @property
    def block(self) -> Block:
        """The block being read."""
        return self.blocks[-1]

    def handlers(self) -> dict[str, str]:
        """Keyword in a line -> name of the method that reads such lines."""
        return {
            "MiB": "on_mib",
            " MB": "on_mb",
            "mem required": "on_mb",
            "memory used": "on_mb",
            "VRAM used": "on_mb",
            "compute buffer total": "on_mb",
            "layers to GPU": "on_offloaded",
            "load": "on_load",
            "ggml ctx size": "on_load",
            "n_ctx": "on_ctx",
            "kv_size": "on_ctx",
            "constructing": "on_context",
            "MTP": "on_mtp",
            "build": "on_build",
            "version": "on_build",
        }

    def _model_line(self) -> None:
        """A line about a model: after a context it begins the next block."""
        self.evidence += 1
        if self.block.in_context and not self.block.empty and len(self.blocks) < 64:
            self.blocks.append(Block(kind="draft" if self.blocks else "target"))

    def _context_line(self) -> None:
        self.block.in_context = True

    def on_mib(self, line: Line) -> None:
        """Buffers, caches and free memory."""
        buffer = parse_buffer(line.text)
        if buffer:
            self._book(*buffer)
            return
        cache = _CACHE.search(line.text)
        total = _KV_SELF.search(line.text)
        if cache or total:
            self._cache(line.text, number((cache or total)[1]) or 0.0, cache)  # type: ignore[index]
        free = _FREE.search(line.text)
        if free:
            self._model_line()
            self.block.free_mib = (self.block.free_mib or 0.0) + (number(free[2]) or 0.0)

    def _book(self, kind: str, name: str, size: float) -> None:
        self.evidence += 1
        if kind == "weights":
            self._model_line()
        else:
            self._context_line()
        if kind == "compute":
            self.state.progress()
            if len(self.blocks) > 1 and name in self.block.compute:
                return  # a later reserve may be of any context: only the first one is surely of this block
        self.block.add(kind, name, size)

    def _cache(self, text: str, size: float, cache: re.Match[str] | None) -> None:
        """A cache total with its parts; recurrent state carries R and S in place of K and V."""
        self.evidence += 1
        self._context_line()
        parts = {name: (kind, number(mib) or 0.0) for name, kind, mib in _PART.findall(text)}
        if cache:
            self.seqs = self.seqs if self.seqs is not None else count(cache[4])
            self.rs_seq = self.rs_seq if self.rs_seq is not None else count(cache[5])
        recurrent = "R" in parts or "S" in parts
        if len(self.block.kv_total) < 64:
            (self.block.rs_total if recurrent else self.block.kv_total).append(size)
        store = self.block.rs_parts if recurrent else self.block.kv_parts
        for name, (_, mib) in parts.items():
            store[name] = round(store.get(name, 0.0) + mib, 6)
        if not recurrent and parts:
            kinds = {name: kind for name, (kind, _) in parts.items()}
            self.block.kv_types = (kinds.get("K") or kinds.get("c^KV"), kinds.get("V") or kinds.get("kv^T"))

    def on_mb(self, line: Line) -> None:
        """The wording of 2023 and of the first weeks of 2024, in MB that are MiB, then in MiB."""
        required, vram, compute = _REQUIRED.search(line.text), _VRAM.search(line.text), _COMPUTE_2023.search(line.text)
        total = _KV_SELF.search(line.text)
        if required:
            self._model_line()
            self.block.required_mib = number(required[1])
        if vram:
            self._model_line() if not self.block.in_context else None  # the context's own line gives a total of both
            self.block.vram_mib = self.block.vram_mib if self.block.vram_mib is not None else number(vram[1])
            self.block.vram_weights_mib = self.block.vram_weights_mib if vram[2] is None else number(vram[2])
        if compute:
            self._context_line()
            self.compute_total_mib = number(compute[1])
        if total and " MB" in total[0]:
            self._cache(line.text, number(total[1]) or 0.0, None)

    def on_offloaded(self, line: Line) -> None:
        """`offloaded N/M layers to GPU`: layers asked for, which says nothing about the experts in them."""
        found = _OFFLOADED.search(line.text)
        layers = (count(found[1]), count(found[2])) if found else (None, None)
        if layers[0] is not None and layers[1] is not None:
            self._model_line()
            self.block.layers = (layers[0], layers[1])

    def on_load(self, line: Line) -> None:
        """Where models begin, and whose they are."""
        text = line.text
        draft = _DRAFT.search(text)
        if draft:
            self.evidence += 1
            self.blocks.append(Block(kind="draft", path=draft[1])) if len(self.blocks) < 64 else None
        elif any(sign in text for sign in _NEW_MODEL):
            self._model_line()
        meta = _META.search(text)
        if meta and self.block.path is None:
            self.block.path = meta[1]
        partial = _PARTIAL.search(text)
        if partial:
            self._model_line()
            self.block.kind = "mtp"
            used, whole = count(partial[1]), count(partial[2])
            self.partial = (used, whole) if used is not None and whole is not None else self.partial

    def on_mtp(self, line: Line) -> None:
        """A second context on the target's own weights."""
        if "creating MTP draft context" in line.text:
            self.blocks.append(Block(kind="mtp", loads=False, in_context=True))

    def on_context(self, line: Line) -> None:
        """A context is made: the model's lines are over."""
        if "constructing llama_context" in line.text:
            self._context_line()
            self.block.finished = True

    def on_ctx(self, line: Line) -> None:
        """Context size in tokens, and cache types in the wording of early 2025."""
        found = _N_CTX.search(line.text) or _KV_SIZE.search(line.text)
        if found and "init_result" not in line.text and "warn" not in line.text:
            self._context_line()
            self.block.n_ctx = self.block.n_ctx or count(found[1])
        types = _KV_TYPES.search(line.text)
        if types:
            self.block.kv_types = (types[1], types[2])

    def on_build(self, line: Line) -> None:
        """The build; the same spelling a second time is a second run in the file."""
        build = build_of(line.text)
        if build is None:
            return
        if build[2] in self._spellings and build[2] < LOOSEST:
            self._next_run()
        self._spellings.add(build[2])
        number_known, commit = build[0] or self.build[0], self.build[1] or build[1]
        self.build = (number_known, commit)

    def _next_run(self) -> None:
        """Starts over: the figures of two runs must not mix, and the last one counts."""
        runs, evidence = self.runs + 1, self.evidence
        for part in (self.state, self.fit, self.extra):
            renew(part)
        self.__dict__.update({k: v for k, v in vars(LoadFacts()).items() if k not in ("state", "fit", "extra")})
        self.runs, self.evidence = runs, evidence

    def devices_at_least(self) -> int | None:
        """How many devices the log proves, from indices in names; None where it names none."""
        names = [name for block in self.blocks for store in (block.weights, block.kv, block.compute) for name in store]
        seen = [device_index(name) for name in names if not name.startswith("CPU")]
        known = [index for index in [*seen, *self.extra.device_indices] if index is not None]
        return max(known) + 1 if known else None

    def collectors(self) -> list[object]:
        """The parts that take lines, each with its own `handlers`."""
        return [self.state, self.fit, self.extra, self]


def read_facts(lines: Iterable[str]) -> LoadFacts:
    """Reads lines, prefixes allowed, in one pass."""
    facts = LoadFacts()
    dispatcher = Dispatcher(facts.collectors())
    for text in lines:
        dispatcher.line(text)
    return facts


def read_placement(lines: Iterable[str]) -> Placement:
    """Where the model lies, from a load log: see `placement.Placement`. Lines may carry any prefix."""
    return placement_of(read_facts(lines))
