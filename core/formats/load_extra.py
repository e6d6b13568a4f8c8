"""Single figures of a load log beside buffers and fit: model sizes, overrides, devices, tables of ik_llama.cpp, slots, speculation."""

from __future__ import annotations

import re
from typing import Any

from core.formats.lines import Line
from core.formats.numbers import count, number

_OVERRIDE = re.compile(r"[Tt]ensor (\S{1,256}) (?:\((?:size = )?([\d.]+) MiB[^)]{0,64}\) )?buffer type overrid{1,2}en to (\S{1,128})")
_SIZE = re.compile(r"(?:model|file) size +=? *= *([\d.]+) (GiB|MiB|GB|MB) \( *([\d.]+) BPW\)")
_PARAMS = re.compile(r"(?:model )?params +=? *= *([\d.]+) (T|B|M|K)\b")
_VOCAB = re.compile(r"\b(n_vocab|n_embd) += (\d+)")
_FOUND = re.compile(r"[Ff]ound (\d{1,4}) (?:CUDA|ROCm|HIP|Vulkan|SYCL|MUSA|CANN|OpenCL)\w* devices?")
_INFO = re.compile(r"- (\S{1,128}) *: .{0,300}\((\d+) MiB, (\d+) MiB free\)")
_VRAM = re.compile(r"Total VRAM: *(\d+) MiB")
_DEFAULT = re.compile(r"Setting default device in layer (\d+) to (\d+)")
_ESTIMATE = re.compile(r"^Device (\d+): +([\d.]+) MiB")
_LAYER = re.compile(r"^Layer +(\d+): +([\d.]+), +([\d.]+), +([\d.]+) +([\d.]+) +MiB")
_ASSIGNED = re.compile(r"layer +(\d+) assigned to device (\S{1,128}?),? ")
_EMBEDDING = re.compile(r"tensor '(?:token_embd|per_layer_token_embd)[^']{0,64}' .{0,64}\(and (\d+) others\)")
_SKIPPED = re.compile(r"layer +(\d+): skipped|unused tensor blk\.(\d+)\.")
_FIGURES = {
    "verbosity": re.compile(r"verbosity = (\d+)"),
    "repacked_tensors": re.compile(r"Repacked (\d+) tensors"),
    "mtp_tail_layer": re.compile(r"MTP tail layer (\d+)"),
    "pipeline_copies": re.compile(r"n_copies *= *(\d+)"),
    "n_slots": re.compile(r"n_slots *= *(\d+)"),
    "n_ctx_slot": re.compile(r"n_ctx_slot *= *(\d+)"),
    "n_parallel": re.compile(r"n_parallel *= *(\d+)"),
    "n_seqs": re.compile(r"n_seq_max +=? *= *(\d+)"),
    "n_rs_seq": re.compile(r"n_rs_seq += (\d+)"),
    "n_max": re.compile(r"\bn_max *= *(\d+)"),
}
_TYPE = re.compile(r"adding speculative implementation '([\w-]{1,64})'")
_REQUESTED = (
    "loading draft model",
    "[spec] estimated",
    "creating MTP draft context",
    "adding speculative implementation",
    "--spec-type",
    "--model-draft",
)
_CPU_MOE = re.compile(r"(?:--n-cpu-moe|-ncmoe)[ =](\d{1,5})\b")
_WORKING_SET = "greater than the recommended max working set"
_CUTS = {".", "..", "...", "…", "[...]", "[…]"}
_DISABLED = ("disabled", "disabling", "not supported", "doesn't contain MTP")
_SCALE = {"T": 1e3, "B": 1.0, "M": 1e-3, "K": 1e-6}


class ExtraFacts:
    """Collects single figures, in order; sizes MiB or GiB as the key says."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.overrides: dict[str, int] = {}
        self.override_mib: dict[str, float] = {}
        self.overrides_cut: bool | None = None
        self.device_indices: list[int] = []
        self.gpu_info: dict[str, tuple[int, int]] = {}
        self.info_lines = 0
        self.estimates: dict[str, float] = {}
        self.layer_rows: list[tuple[float, float]] = []
        self.layers_on: dict[str, int] = {}
        self.embedding_others: int | None = None
        self.mmap: bool | None = None
        self.vocabulary: dict[str, int] = {}
        self._after_override = False

    def handlers(self) -> dict[str, str]:
        """Keyword in a line -> name of the method that reads such lines."""
        return {
            "verrid": "on_override",
            ".\n": "on_cut",
            "…\n": "on_cut",
            "]\n": "on_cut",
            "BPW": "on_size",
            "params": "on_size",
            "n_vocab": "on_vocabulary",
            "n_embd": "on_vocabulary",
            "ound ": "on_device",
            "MiB": "on_device",
            "ayer": "on_layer",
            "others)": "on_embedding",
            "mmap": "on_mmap",
            "skipped": "on_skip",
            "unused tensor": "on_skip",
            "verbosity": "on_figure",
            "Repacked": "on_figure",
            "n_copies": "on_figure",
            "n_slots": "on_figure",
            "n_ctx_slot": "on_figure",
            "n_parallel": "on_figure",
            "n_seq_max": "on_figure",
            "n_max": "on_figure",
            "n_rs_seq": "on_figure",
            "speculative": "on_speculation",
            "[spec]": "on_speculation",
            "MTP": "on_speculation",
            "draft model": "on_speculation",
            "--spec-type": "on_speculation",
            "working set": "on_working_set",
            "cpu-moe": "on_command",
            "-ncmoe": "on_command",
        }

    def on_override(self, line: Line) -> None:
        """`tensor … buffer type overridden to BUF`, in every spelling."""
        found = _OVERRIDE.search(line.text)
        self._after_override = found is not None
        if found is None:
            return
        target = found[3].rstrip(".,")
        if target not in self.overrides and len(self.overrides) >= 256:
            return
        self.overrides[target] = self.overrides.get(target, 0) + 1
        size = number(found[2])
        if size is not None:
            self.override_mib[target] = round(self.override_mib.get(target, 0.0) + size, 6)

    def on_cut(self, line: Line) -> None:
        """A row of dots inside the list of overrides: somebody cut it."""
        if self._after_override and line.text.strip() in _CUTS:
            self.overrides_cut = True

    def on_size(self, line: Line) -> None:
        """Size of the file and number of parameters."""
        size = _SIZE.search(line.text)
        value = number(size[1]) if size else None
        if size and value is not None:
            self.values.setdefault("model_size_gib", value if size[2].startswith("G") else round(value / 1024, 6))
            self.values.setdefault("bpw", number(size[3]))
        params = _PARAMS.search(line.text)
        many = number(params[1]) if params else None
        if params and many is not None:
            self.values.setdefault("params_b", round(many * _SCALE[params[2]], 9))

    def on_vocabulary(self, line: Line) -> None:
        """What bounds the token embedding: vocabulary and width."""
        found = _VOCAB.search(line.text)
        if found and found[1] not in self.vocabulary:
            self.vocabulary[found[1]] = count(found[2]) or 0

    def on_device(self, line: Line) -> None:
        """Devices found, their memory, ik's estimates and defaults."""
        found = _FOUND.search(line.text)
        if found:
            self.values["devices_found"] = self.values.get("devices_found", 0) + int(found[1])
        vram = _VRAM.search(line.text)
        if vram:
            self.values.setdefault("vram_total_mib", count(vram[1]))
        info = _INFO.search(line.text)
        if info:
            self.info_lines += 1
            total, free = count(info[2]), count(info[3])
            if not info[1].startswith("CPU") and total is not None and free is not None and len(self.gpu_info) < 256:
                self.gpu_info[info[1]] = (total, free)
        estimate = _ESTIMATE.match(line.text)
        if estimate and len(self.estimates) < 256:
            self.estimates[estimate[1]] = number(estimate[2]) or 0.0

    def on_layer(self, line: Line) -> None:
        """ik's table of layer sizes, default devices, the layer assignment at debug level, the tail layer."""
        row = _LAYER.match(line.text)
        if row and len(self.layer_rows) < 4096:
            self.layer_rows.append((number(row[2]) or 0.0, number(row[3]) or 0.0))
        default = _DEFAULT.search(line.text)
        if default and len(self.device_indices) < 4096:
            self.device_indices.append(min(int(default[2][:6]), 9999))
        assigned = _ASSIGNED.search(line.text + " ")
        if assigned and (assigned[2] in self.layers_on or len(self.layers_on) < 256):
            self.layers_on[assigned[2]] = self.layers_on.get(assigned[2], 0) + 1
        self.on_figure(line)

    def on_embedding(self, line: Line) -> None:
        """The one tensor named as staying on the host: the token embedding, and how many others."""
        found = _EMBEDDING.search(line.text)
        if found:
            self.embedding_others = count(found[1])

    def on_mmap(self, line: Line) -> None:
        """Whether the file is mapped."""
        if "mmap = true" in line.text or "load_mode = mmap" in line.text:
            self.mmap = True
        elif "mmap = false" in line.text:
            self.mmap = False

    def on_skip(self, line: Line) -> None:
        """The first layer that was left out."""
        found = _SKIPPED.search(line.text)
        layer = count(found[1] or found[2]) if found else None
        if layer is not None:
            self.values["layers_skipped_from"] = min(self.values.get("layers_skipped_from", layer), layer)

    def on_figure(self, line: Line) -> None:
        """Figures that stand alone on a line."""
        for key, pattern in _FIGURES.items():
            found = pattern.search(line.text)
            if found:
                self.values.setdefault(key, count(found[1]))

    def on_speculation(self, line: Line) -> None:
        """Whether speculation was asked for and came up."""
        if any(sign in line.text for sign in _REQUESTED):
            self.values["spec_requested"] = True
        found = _TYPE.search(line.text)
        if found:
            types = self.values.setdefault("spec_types", [])
            if found[1] not in types and len(types) < 16:
                types.append(found[1])
            self.values["spec_active"] = True
        if any(sign in line.text for sign in _DISABLED):
            self.values.update(spec_requested=True, spec_active=False, spec_disabled=True)
        if "speculative decoding context initialized" in line.text:
            self.values.update(spec_active=True, spec_requested=True)

    def on_command(self, line: Line) -> None:
        """A recorded command: the log prints no line of its own for experts kept on the host."""
        found = _CPU_MOE.search(line.text)
        if found:
            self.values.setdefault("n_cpu_moe", count(found[1]))

    def on_working_set(self, line: Line) -> None:
        """Metal: more is allocated than the system recommends."""
        if _WORKING_SET in line.text:
            self.values["working_set_warning"] = True
