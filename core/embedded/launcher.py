#!/usr/bin/env python3
"""The engine binary of a machine that has none: llama-server's own flags in front of llama.cpp's server inside xllamacpp.

Stands alone: needs Python and the xllamacpp wheel, nothing else of this project, so one copied file is an engine.
A flag the wheel cannot honour is unknown here, never accepted and ignored. Exit codes and messages follow llama-server:
1 with a message on stderr for a refused command line, a model that does not load or a port that is taken; 0 after
SIGTERM or SIGINT.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

# Threads of a pass wait for each other hundreds of times a token. Spinning without end collapses when anything else wants a core (21 tok/s
# instead of 900 on 2 cores); ten microseconds, then sleep, cost nothing on an idle machine. Read when the library loads: before the import.
os.environ.setdefault("GOMP_SPINCOUNT", "500")

import xllamacpp as wheel  # noqa: E402

SPEC_TYPES = (
    "none draft-simple draft-eagle3 draft-mtp draft-dflash draft-dspark ngram-simple ngram-map-k ngram-map-k4v ngram-mod ngram-cache"
).split()
CACHE_TYPES = "f32 f16 bf16 q8_0 q4_0 q4_1 iq4_nl q5_0 q5_1".split()
FLASH_ATTN = {"on": "ENABLED", "off": "DISABLED", "auto": "AUTO"}
LOAD_MODES = {"auto": "AUTO", "none": "NONE", "mmap": "MMAP", "mlock": "MLOCK", "mmap+mlock": "MMAP_MLOCK", "dio": "DIRECT_IO"}
LAYER_WORDS = {"auto": -1, "all": -2}
# Old spellings the real binary knows only to say what replaced them.
REMOVED = {old: "--spec-draft-n-max or --spec-ngram-mod-n-max" for old in ("--draft", "--draft-n", "--draft-max")}
REMOVED.update({old: "--spec-draft-n-min or --spec-ngram-mod-n-min" for old in ("--draft-min", "--draft-n-min")})
EXPERT_TENSORS = r"\.ffn_(up|down|gate_up|gate)_(ch|)exps"
HELP_COLUMN = 40
LAST_LOG_LINES_S = 0.1


class Refused(Exception):
    """The command line cannot be carried out; the text goes to stderr and the exit code is 1."""


class Option(NamedTuple):
    """One flag: its spellings, the name of its value (empty: takes none), its help, and what it does to the parameters."""

    names: tuple[str, ...]
    value: str
    text: str
    apply: Callable[[Any, str], None]

    def usage(self) -> str:
        """The flag as `--help` prints it: spellings with the value's name, then the help in its own column."""
        first, *others = self.names
        short = bool(others) and not first.startswith("--")
        spelled = f"{first + ',':<6} {', '.join(others)}" if short else ", ".join(self.names)
        spelled = f"{spelled} {self.value}" if self.value else spelled
        return f"{spelled:<{HELP_COLUMN}}{self.text}" if len(spelled) < HELP_COLUMN else f"{spelled}\n{'':{HELP_COLUMN}}{self.text}"


def whole(text: str) -> int:
    """A whole number, or Refused."""
    if not re.fullmatch(r"[+-]?\d{1,10}", text):
        raise Refused(f"stoi: '{text}' is not a whole number")
    return int(text)


def natural(text: str) -> int:
    """A whole number of at least 0, or Refused."""
    number = whole(text)
    if number < 0:
        raise Refused("invalid value")
    return number


def share(text: str) -> float:
    """A number from 0 to 1, or Refused."""
    if not re.fullmatch(r"\d*\.?\d+(e-?\d+)?", text) or not 0.0 <= float(text) <= 1.0:
        raise Refused(f"stof: '{text}' is not a number from 0 to 1")
    return float(text)


def shares(text: str) -> list[float]:
    """Comma-separated numbers from 0 to 1."""
    return [share(part) for part in text.split(",")]


def one_of(known: Any, text: str) -> str:
    """`text` if it is among `known`, else Refused with the list."""
    if text not in known:
        raise Refused(f"unknown value: '{text}' (known: {', '.join(known)})")
    return text


def on_off(text: str) -> bool:
    """`on` or `off`."""
    return one_of(("on", "off"), text) == "on"


def listed(text: str) -> list[str]:
    """The parts of a comma-separated list."""
    return text.split(",")


def layers(text: str) -> int:
    """A count of layers, `auto` or `all`."""
    return LAYER_WORDS[text] if text in LAYER_WORDS else whole(text)


def port(text: str) -> int:
    """A TCP port, 0 for any free one."""
    number = natural(text)
    if number > 65535:
        raise Refused("invalid port")
    return number


def slots(text: str) -> int:
    """A count of parallel slots, at least 1."""
    number = whole(text)
    if number < 1:
        raise Refused("invalid value for n_parallel")
    return number


def spec_types(text: str) -> list[Any]:
    """The speculation types of a comma-separated list, or Refused with the known ones."""
    for name in text.split(","):
        if name not in SPEC_TYPES:
            raise Refused(f"unknown speculative type: {name} (known: {', '.join(SPEC_TYPES)})")
    known = wheel.common_speculative_type
    return [getattr(known, "COMMON_SPECULATIVE_TYPE_" + name.upper().replace("-", "_")) for name in text.split(",")]


def into(path: str, convert: Callable[[str], Any] = str) -> Callable[[Any, str], None]:
    """An `apply` that stores the converted value in the parameter at a dotted path."""

    def apply(params: Any, text: str) -> None:
        *owners, last = path.split(".")
        for owner in owners:
            params = getattr(params, owner)
        setattr(params, last, convert(text))

    return apply


def constant(kind: str, prefix: str, known: dict[str, str]) -> Callable[[str], Any]:
    """A converter from a word of `known` to the wheel's enum constant."""
    return lambda text: getattr(getattr(wheel, kind), prefix + known[one_of(known, text)])


def override_tensors(params: Any, text: str) -> None:
    """Add `pattern=buffer` pairs to those already given."""
    try:
        params.tensor_buft_overrides = ",".join(filter(None, (params.tensor_buft_overrides, text)))
    except ValueError as error:
        raise Refused(str(error)) from error


def experts_to_cpu(params: Any, text: str) -> None:
    """Keep the experts of the first N layers in host memory."""
    for layer in range(natural(text)):
        override_tensors(params, rf"blk\.{layer}{EXPERT_TENSORS}=CPU")


def draft_model(params: Any, text: str) -> None:
    """Name the draft model; alone it means plain drafting, as with the real binary."""
    params.speculative.draft.mparams.path = text
    if params.speculative.types == spec_types("none"):
        params.speculative.types = spec_types("draft-simple")


def print_version(_params: Any, _text: str) -> None:
    """Print the build as llama-server does and leave. A wheel without a commit shows its own version there."""
    info = wheel.BUILD_INFO
    number = info["build_number"] or wheel.__version__.rsplit(".", 1)[-1]
    commit = wheel.__version__ if info["commit"] in ("", "unknown") else info["commit"]
    sys.stderr.write(f"version: {number} ({commit})\nbuilt with {info['compiler']} for {info['build_target']}\n")
    raise SystemExit(0)


def print_help(_params: Any, _text: str) -> None:
    """Print every flag on stdout and leave."""
    for title, options in (("common params", COMMON), ("speculative params", SPECULATIVE), ("server params", SERVER)):
        sys.stdout.write(f"----- {title} -----\n\n" + "\n".join(option.usage() for option in options) + "\n\n\n")
    raise SystemExit(0)


def cache_type(text: str) -> Any:
    """The wheel's constant for a KV cache type."""
    return getattr(wheel.ggml_type, "GGML_TYPE_" + one_of(CACHE_TYPES, text).upper())


FLASH = constant("llama_flash_attn_type", "LLAMA_FLASH_ATTN_TYPE_", FLASH_ATTN)
LOAD = constant("llama_load_mode", "LLAMA_LOAD_MODE_", LOAD_MODES)

COMMON = (
    Option(("-h", "--help", "--usage"), "", "print usage and exit", print_help),
    Option(("--version",), "", "show version and build info", print_version),
    Option(("-m", "--model"), "FNAME", "model path to load", into("model.path")),
    Option(("-c", "--ctx-size"), "N", "size of the prompt context (default: 0, 0 = loaded from model)", into("n_ctx", natural)),
    Option(("-b", "--batch-size"), "N", "logical maximum batch size (default: 2048)", into("n_batch", natural)),
    Option(("-ub", "--ubatch-size"), "N", "physical maximum batch size (default: 512)", into("n_ubatch", natural)),
    Option(("-t", "--threads"), "N", "CPU threads used during generation (default: -1)", into("cpuparams.n_threads", whole)),
    Option(
        ("-tb", "--threads-batch"), "N", "CPU threads used for prompts (default: as --threads)", into("cpuparams_batch.n_threads", whole)
    ),
    Option(("-fa", "--flash-attn"), "[on|off|auto]", "Flash Attention use (default: auto)", into("flash_attn_type", FLASH)),
    Option(("-ctk", "--cache-type-k"), "TYPE", f"KV cache type for K: {', '.join(CACHE_TYPES)}", into("cache_type_k", cache_type)),
    Option(("-ctv", "--cache-type-v"), "TYPE", f"KV cache type for V: {', '.join(CACHE_TYPES)}", into("cache_type_v", cache_type)),
    Option(("-ngl", "--gpu-layers", "--n-gpu-layers"), "N", "layers on the GPU: a number, auto or all", into("n_gpu_layers", layers)),
    Option(("-ot", "--override-tensor"), "<tensor name pattern>=<buffer type>,...", "override tensor buffer type", override_tensors),
    Option(
        ("-cmoe", "--cpu-moe"), "", "keep all experts in the CPU", lambda params, _text: override_tensors(params, EXPERT_TENSORS + "=CPU")
    ),
    Option(("-ncmoe", "--n-cpu-moe"), "N", "keep the experts of the first N layers in the CPU", experts_to_cpu),
    Option(("-lm", "--load-mode"), "MODE", f"model loading mode: {', '.join(LOAD_MODES)}", into("load_mode", LOAD)),
    Option(("-fit", "--fit"), "[on|off]", "fit unset arguments to memory (default: on)", into("fit_params", on_off)),
    Option(("--no-warmup",), "", "skip warming up the model with an empty run", into("warmup", lambda _text: False)),
    Option(("-s", "--seed"), "SEED", "RNG seed (default: -1, random)", into("sampling.seed", lambda text: whole(text) & 0xFFFFFFFF)),
    Option(("-lv", "--verbosity", "--log-verbosity"), "N", "log threshold, 0 to 5 (default: 3)", into("verbosity", whole)),
)
SPECULATIVE = (
    Option(("--spec-type",), "|".join(SPEC_TYPES), "comma-separated (default: none)", into("speculative.types", spec_types)),
    Option(("--spec-draft-n-max",), "N", "tokens to draft (default: 3)", into("speculative.draft.n_max", natural)),
    Option(("--spec-draft-n-min",), "N", "fewest draft tokens to use (default: 0)", into("speculative.draft.n_min", natural)),
    Option(("--spec-draft-p-min", "--draft-p-min"), "P", "least draft probability (default: 0.00)", into("speculative.draft.p_min", share)),
    Option(("-md", "--model-draft", "--spec-draft-model"), "FNAME", "draft model", draft_model),
    Option(("--spec-synth-rates",), "P0,P1,...", "synthetic acceptance (benchmarking only)", into("speculative.synth_rates", shares)),
)
SERVER = (
    Option(("--host",), "HOST", "addresses to listen on (default: 127.0.0.1)", into("hostnames", listed)),
    Option(("--port",), "PORT", "port to listen on (default: 8080)", into("port", port)),
    Option(("-np", "--parallel"), "N", "number of server slots (default: 1)", into("n_parallel", slots)),
    Option(("--metrics",), "", "enable prometheus compatible metrics endpoint", into("endpoint_metrics", lambda _text: True)),
    Option(("-a", "--alias"), "STRING", "model name aliases, comma-separated", into("model_alias", lambda text: set(listed(text)))),
    Option(("--api-key",), "KEY", "API keys, comma-separated (default: none)", into("api_keys", listed)),
)
OPTIONS = {name: option for option in COMMON + SPECULATIVE + SERVER for name in option.names}


def parse(arguments: list[str]) -> Any:
    """The wheel's parameters for a command line; Refused for anything llama-server would refuse."""
    params = wheel.CommonParams()
    params.port = 8080
    rest = iter(arguments)
    for name in rest:
        if name in REMOVED:
            raise Refused(f'error while handling argument "{name}": the argument has been removed. use {REMOVED[name]}')
        if name not in OPTIONS:
            raise Refused(f"error: invalid argument: {name}")
        option = OPTIONS[name]
        text = next(rest, None) if option.value else ""
        try:
            if text is None:
                raise Refused("expected value for argument")
            option.apply(params, text)
        except Refused as error:
            usage = f"usage:\n{option.usage()}\n\n\nto show complete usage, run with -h"
            raise Refused(f'error while handling argument "{name}": {error}\n\n{usage}') from error
    if not params.model.path:
        raise Refused("error: --model is required")
    return params


def wait_for_stop() -> None:
    """Return at the first SIGTERM or SIGINT, whichever thread the system hands it to."""
    inlet, outlet = os.pipe()
    os.set_blocking(outlet, False)
    signal.set_wakeup_fd(outlet)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    os.read(inlet, 1)


def main(arguments: list[str]) -> int:
    """Serve until told to stop; the exit code."""
    try:
        params = parse(arguments)
    except Refused as refused:
        sys.stderr.write(f"{refused}\n")
        return 1
    # The wheel holds the interpreter while it loads: only the system's own handler can end the process then.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        server = wheel.Server(params)
    except RuntimeError as error:
        sys.stderr.write(f"main: exiting: {error}\n")
        return 1
    sys.stderr.write(f"main: server is listening on {server.listening_address}\n")
    sys.stderr.flush()
    wait_for_stop()
    # Closing the server politely waits up to 30 s for an open stream, so the process leaves once its last log lines are out.
    time.sleep(LAST_LOG_LINES_S)
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
