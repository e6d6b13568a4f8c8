"""One load block of a log: a model (target, draft, MTP head) and the context made for it. Blocks are never added up silently.

Bytes held and `*_Mapped` spans of a file are different things: a span is not memory in use and is never summed into one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from core.formats.numbers import number

_TAIL_KINDS = ("model", "KV", "RS", "compute", "output", "input", "LoRA", "state", "self")
_SIZE = re.compile(r" buffer size *= *([\d.]+) MiB")
_DEVICE_NAME = re.compile(r"^(?:RPC\d*\[[^\]]{1,200}\]|Meta\([^)]{0,200}\)|[A-Za-z_]\w{0,63}(?:\[[^\]]{1,200}\])?)$")
_INDEX = re.compile(r"^[A-Za-z]+?_?(\d{1,4})$")


def is_mapped(name: str) -> bool:
    """A buffer that is a span of a mapped file."""
    return name.endswith("_Mapped")


def is_host(name: str) -> bool:
    """A buffer of bytes held in host memory: `CPU…`, `…_Host`."""
    return (name.startswith("CPU") or name.endswith("_Host")) and not is_mapped(name)


def is_split(name: str) -> bool:
    """A buffer spread over devices that the log does not name: `CUDA_Split`, `Meta()`."""
    return name.endswith("_Split") or name.startswith("Meta(")


def device_index(name: str) -> int | None:
    """The number in a device's name; None for `OpenCL`, `Metal`."""
    found = _INDEX.match(name)
    return int(found[1]) if found else None


def parse_buffer(text: str) -> tuple[str, str, float] | None:
    """(kind, buffer name, MiB) of a `… buffer size = N MiB` line; kind is `weights` or the word before `buffer`.

    None where it is no such line. A name may hold brackets and colons, and be empty for recurrent state.
    """
    found = _SIZE.search(text)
    size = number(found[1]) if found else None
    if found is None or size is None:
        return None
    words = text[: found.start()].split()
    kind = words.pop() if words and words[-1] in _TAIL_KINDS else "weights"
    name = words.pop() if words else ""
    if name.endswith(":"):  # the function's own tag: the buffer's name is empty
        words.append(name)
        name = ""
    if name and not _DEVICE_NAME.match(name):
        return None
    tagged = any("load_tensors" in word for word in words)
    if kind == "weights" and not (name and (tagged or not words)):
        return None
    return ("weights" if kind == "model" else kind), name, size


@dataclass
class Block:
    """Figures of one block. MiB by buffer name; `loads` False for a second context on weights that are loaded already."""

    kind: str = "target"
    loads: bool = True
    weights: dict[str, float] = field(default_factory=dict)
    kv: dict[str, float] = field(default_factory=dict)
    compute: dict[str, float] = field(default_factory=dict)
    rs: dict[str, float] = field(default_factory=dict)
    kv_total: list[float] = field(default_factory=list)
    kv_parts: dict[str, float] = field(default_factory=dict)
    rs_parts: dict[str, float] = field(default_factory=dict)
    rs_total: list[float] = field(default_factory=list)
    kv_types: tuple[str | None, str | None] = (None, None)
    layers: tuple[int, int] | None = None
    n_ctx: int | None = None
    free_mib: float | None = None
    required_mib: float | None = None
    vram_mib: float | None = None
    vram_weights_mib: float | None = None
    path: str | None = None
    in_context: bool = False
    finished: bool = False

    def add(self, kind: str, name: str, size: float) -> None:
        """Books one buffer line. Parts of one model and caches of one context add up; compute buffers replace each other."""
        if kind == "compute":
            self.compute[name] = size
            return
        store = {"weights": self.weights, "KV": self.kv, "RS": self.rs}.get(kind)
        if store is not None and (name in store or len(store) < 1024):
            store[name] = round(store.get(name, 0.0) + size, 6)

    @property
    def empty(self) -> bool:
        """Nothing was read into this block yet."""
        return not (self.weights or self.kv or self.compute or self.rs or self.layers or self.n_ctx or self.required_mib or self.kv_total)

    def devices(self) -> dict[str, float]:
        """Weights by device, MiB."""
        return {n: s for n, s in self.weights.items() if not (is_host(n) or is_mapped(n) or is_split(n))}

    def hosts(self) -> dict[str, float]:
        """Weights by host buffer, MiB, without spans."""
        return {n: s for n, s in self.weights.items() if is_host(n)}

    def spans(self) -> dict[str, float]:
        """Spans of mapped files by buffer, MiB."""
        return {n: s for n, s in self.weights.items() if is_mapped(n)}

    def splits(self) -> float | None:
        """Weights spread over unnamed devices, MiB; None where there are none."""
        sizes = [s for n, s in self.weights.items() if is_split(n)]
        return round(sum(sizes), 6) if sizes else None
