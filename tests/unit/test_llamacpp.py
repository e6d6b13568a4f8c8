"""Argument lists from typed arms, in the spelling the binary at hand knows."""

import pytest

from core.engines.llamacpp import Arm, arguments, dialect_of, flags_in
from core.errors import PreflightRefused

NOW = """
-m,    --model FNAME                    model path
-c,    --ctx-size N                     context
-np,   --parallel N                     slots
-ngl,  --gpu-layers, --n-gpu-layers N   layers
-ncmoe, --n-cpu-moe N                   experts of the first N layers
-lv,   --verbosity, --log-verbosity N   threshold
-fit,  --fit [on|off]                   fit to memory, see --other
--spec-type none,draft-simple,draft-mtp,ngram-simple
                                        comma-separated list
--spec-draft-n-max N                    tokens
"""
EARLIER = (
    NOW.replace("--spec-draft-n-max N", "--draft-max, --draft, --draft-n N")
    .replace("draft-simple,draft-mtp", "mtp")
    .replace("-fit,  --fit", "-x")
)


def test_flags_are_those_at_the_head_of_a_line():
    known = flags_in(NOW)
    assert {"-m", "--model", "--n-gpu-layers", "-fit", "--spec-type"} <= known and "--other" not in known


@pytest.mark.parametrize(
    "text, spec", [(NOW, ["--spec-type", "draft-mtp", "--spec-draft-n-max", "2"]), (EARLIER, ["--spec-type", "mtp", "--draft-max", "2"])]
)
def test_each_binary_hears_its_own_words(text, spec):
    args = arguments(Arm(2, 3, 1000), dialect_of(text))
    assert args[-4:] == spec and args[:6] == ["-m", "{model}", "-c", "3000", "-np", "3"]
    assert "-lv" in args and args[args.index("-lv") + 1] == "4"
    assert ("-fit" in args) == (text is NOW)


def test_the_baseline_differs_only_in_speculation():
    on, off = arguments(Arm(2, 1, 512), dialect_of(NOW)), arguments(Arm(0, 1, 512), dialect_of(NOW))
    assert on[: len(off)] == off and on[len(off) :] == ["--spec-type", "draft-mtp", "--spec-draft-n-max", "2"]


def test_placement_is_told_or_refused():
    assert "-ngl" in arguments(Arm(0, 1, 512, n_gpu_layers=7, n_cpu_moe=3), dialect_of(NOW))
    with pytest.raises(PreflightRefused, match="no flag for experts"):
        arguments(Arm(0, 1, 512, n_cpu_moe=3), dialect_of(NOW.replace("-ncmoe, --n-cpu-moe", "-zz")))


@pytest.mark.parametrize(
    "text", [NOW.replace("draft-mtp", "eagle"), NOW.replace("--spec-draft-n-max", "--zzz"), NOW.replace("--spec-type", "--zzz")]
)
def test_a_binary_without_mtp_is_refused_in_words(text):
    with pytest.raises(PreflightRefused, match="no multi-token prediction"):
        arguments(Arm(1, 1, 512), dialect_of(text))
