"""How llama.cpp's server is told what to do: argument lists from typed recipes, in the spelling the binary at hand knows.

Spellings moved over the years (`--draft-max` became `--spec-draft-n-max`, `mtp` became `draft-mtp`), and an unknown flag ends
the server at once: the binary's own `--help` is asked, never its version.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from core.errors import PreflightRefused

DRAFT_MAX = ("--spec-draft-n-max", "--draft-max", "--draft-n", "--draft")
MTP_TYPES = ("draft-mtp", "mtp")
_FLAG = re.compile(r"--?[A-Za-z][A-Za-z0-9-]*")
_HEAD = re.compile(r"\s{0,4}(?:--?[A-Za-z][A-Za-z0-9-]*(?:,\s*|\s+|$))+")


@dataclass(frozen=True)
class Arm:
    """One arm in typed values: n_max 0 is speculation off; `slots` = concurrency; `context` tokens per slot; None = engine's default."""

    n_max: int
    slots: int
    context: int
    n_gpu_layers: int | None = None
    n_cpu_moe: int | None = None


@dataclass(frozen=True)
class Dialect:
    """Which spelling this binary knows for each meaning; None where it knows none."""

    draft_max: str | None
    spec_type: str | None
    mtp: str | None
    verbosity: str | None
    fit: str | None
    alias: str | None
    metrics: str | None
    api_key: str | None
    gpu_layers: str | None
    cpu_moe: str | None
    context: str
    slots: str
    forced: str | None = None


def flags_in(help_text: str) -> frozenset[str]:
    """Every flag that stands at the head of an option line, aliases included; flags mentioned in a description do not count."""
    found: set[str] = set()
    for line in help_text.splitlines():
        head = _HEAD.match(line)
        if head:
            found.update(_FLAG.findall(head.group()))
    return frozenset(found)


def _first(known: frozenset[str], *spellings: str) -> str | None:
    return next((flag for flag in spellings if flag in known), None)


def dialect_of(help_text: str) -> Dialect:
    """Reads the spellings from `--help`. Raises PreflightRefused when the text names no model flag at all (not a llama-server)."""
    known = flags_in(help_text)
    if not known & {"-m", "--model"}:
        raise PreflightRefused(
            "This program's --help does not look like llama-server's: it names no --model flag.",
            hint="Register the path of a llama-server binary on the box page.",
        )
    spec_type = _first(known, "--spec-type")
    return Dialect(
        draft_max=_first(known, *DRAFT_MAX),
        spec_type=spec_type,
        mtp=_mtp_name(help_text) if spec_type else None,
        verbosity=_first(known, "-lv", "--verbosity", "--log-verbosity"),
        fit=_first(known, "-fit", "--fit"),
        alias=_first(known, "--alias", "-a"),
        metrics=_first(known, "--metrics"),
        api_key=_first(known, "--api-key"),
        gpu_layers=_first(known, "-ngl", "--gpu-layers", "--n-gpu-layers"),
        cpu_moe=_first(known, "--n-cpu-moe", "-ncmoe"),
        context=_first(known, "-c", "--ctx-size") or "-c",
        slots=_first(known, "-np", "--parallel") or "-np",
        forced=_first(known, "--spec-synth-rates"),
    )


def _mtp_name(help_text: str) -> str | None:
    """The MTP type in the list after --spec-type; as a whole word, since `draft-mtp` contains `mtp`."""
    start = help_text.find("--spec-type")
    block = help_text[start : start + 1500]
    return next((name for name in MTP_TYPES if re.search(rf"(?<![\w-]){name}(?![\w-])", block)), None)


def arguments(arm: Arm, dialect: Dialect) -> list[str]:
    """The argument list of one arm, `{model}` standing for the file; address, port, key and alias are the agent's.

    Raises PreflightRefused when the binary has no words for what is asked.
    """
    args = ["-m", "{model}", dialect.context, str(arm.context * arm.slots), dialect.slots, str(arm.slots)]
    if dialect.verbosity:
        args += [dialect.verbosity, "4"]  # at the default level the load log hides the placement
    if dialect.fit:
        args += [dialect.fit, "off"]  # fitting to memory would move layers in one arm and not in the other
    args += _placement(arm, dialect)
    if arm.n_max:
        args += _speculation(arm.n_max, dialect)
    return args


def _placement(arm: Arm, dialect: Dialect) -> list[str]:
    args: list[str] = []
    for asked, flag, words in (
        (arm.n_gpu_layers, dialect.gpu_layers, "GPU layers"),
        (arm.n_cpu_moe, dialect.cpu_moe, "experts on the CPU"),
    ):
        if asked is not None:
            if flag is None:
                raise PreflightRefused(
                    f"This engine has no flag for {words}.", hint="Leave the field empty, or choose another engine build."
                )
            args += [flag, str(asked)]
    return args


def _speculation(n_max: int, dialect: Dialect) -> list[str]:
    if dialect.spec_type is None or dialect.mtp is None or dialect.draft_max is None:
        raise PreflightRefused(
            "This engine's --help offers no multi-token prediction (no --spec-type with draft-mtp or mtp, or no draft length).",
            hint="Choose a newer engine build on the box page.",
        )
    return [dialect.spec_type, dialect.mtp, dialect.draft_max, str(n_max)]


def forced_arguments(arm: Arm, dialect: Dialect, *, accepted: bool) -> list[str]:
    """The arm with every draft token accepted, or none of them, whatever the drafter says. The text is invalid then.

    Raises PreflightRefused when the binary's help offers no forced acceptance.
    """
    if dialect.forced is None:
        raise PreflightRefused(
            "This engine's --help offers no forced acceptance (--spec-synth-rates), so the forced pass cannot run.",
            hint="Start the run without the forced pass, or choose a newer engine build.",
        )
    return [*arguments(arm, dialect), dialect.forced, ",".join(["1" if accepted else "0"] * arm.n_max)]
