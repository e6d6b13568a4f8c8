"""The made models: exact bytes, honest headers, safe making; and both real ones through the engine."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gguf
import pytest

from core.config import ROOT
from core.embedded.models import CHAT_TEMPLATE, MODELS, ModelShape, make_model
from core.embedded.shape import CYCLE_TEXT, FIRST_BYTE_ID, VOCABULARY
from core.embedded.walk import walk
from core.errors import BenchError
from tests.engine.conftest import SHAPES, Launch

HEADER_LIMIT = 16_384
SMALL = SHAPES["dense-wrong-5"]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def facts(path: Path) -> dict[str, Any]:
    reader = gguf.GGUFReader(path)
    return {name: field.contents() for name, field in reader.fields.items()}


@pytest.fixture(params=sorted(MODELS))
def real_model(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[ModelShape, Path]]:
    shape = MODELS[request.param]
    path = make_model(shape, tmp_path)
    yield shape, path
    path.unlink()  # hundreds of MB: not left to the folder's own clearing


def test_the_two_models_are_what_they_say() -> None:
    assert list(MODELS) == ["made-dense", "made-moe"]
    assert [shape.name for shape in MODELS.values()] == list(MODELS)
    dense, moe = MODELS.values()
    assert (dense.is_moe, dense.dims, dense.layers, dense.ffn, dense.quant, dense.wrong_every) == (False, 512, 2, 21504, "F32", None)
    assert (moe.is_moe, moe.dims, moe.layers, moe.experts, moe.experts_used, moe.expert_ffn) == (True, 512, 4, 32, 2, 384)
    assert (moe.quant, moe.wrong_every) == ("Q8_0", 17)


def test_a_real_model_drafts_as_walked(real_model: tuple[ModelShape, Path], launch: Launch) -> None:
    shape, path = real_model
    assert 0 < path.stat().st_size - shape.size_bytes < HEADER_LIMIT
    assert path.stat().st_size <= 300_000_000
    engine = launch("-m", str(path), "-c", "512", "--spec-type", "draft-mtp", "--spec-draft-n-max", "2")
    reply = engine.chat("hello", 65).body
    expected = walk(shape, n_max=2, prompt_end=engine.prompt_end("hello"), length=65)
    assert reply["choices"][0]["message"]["content"] == expected.text
    assert (reply["timings"]["draft_n"], reply["timings"]["draft_n_accepted"]) == (expected.drafted, expected.accepted)


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_the_same_bytes_every_time_and_a_true_size(name: str, tmp_path: Path) -> None:
    first, second = (make_model(SHAPES[name], tmp_path / folder) for folder in ("one", "two"))
    assert (first.name, digest(first)) == (f"{name}.gguf", digest(second))
    assert 0 < first.stat().st_size - SHAPES[name].size_bytes < HEADER_LIMIT


def test_shapes_differ_in_their_bytes(tmp_path: Path) -> None:
    made = [make_model(replace(SMALL, wrong_every=every), tmp_path / str(every)) for every in (None, 1, 5)]
    assert len({digest(path) for path in made}) == 3


@pytest.mark.parametrize(("name", "dense_layers", "experts"), [("dense-wrong-7", 3, 2), ("moe-wrong-17", 0, 8)])
def test_the_header_says_what_the_file_is(name: str, dense_layers: int, experts: int, tmp_path: Path) -> None:
    shape, header = SHAPES[name], facts(make_model(SHAPES[name], tmp_path))
    assert (header["general.architecture"], header["general.name"]) == ("glm4moe", name)
    assert (header["glm4moe.block_count"], header["glm4moe.nextn_predict_layers"]) == (shape.layers + 1, 1)
    assert (header["glm4moe.leading_dense_block_count"], header["glm4moe.expert_count"]) == (dense_layers, experts)
    assert (header["glm4moe.context_length"], header["glm4moe.embedding_length"]) == (8192, 64)
    assert header["general.file_type"] == (7 if shape.quant == "Q8_0" else 0)
    assert len(header["tokenizer.ggml.tokens"]) == VOCABULARY
    assert header["tokenizer.chat_template"] == CHAT_TEMPLATE


def test_tables_send_every_token_into_the_cycle() -> None:
    shape, cycle = SMALL, {FIRST_BYTE_ID + ord(letter) for letter in CYCLE_TEXT}
    assert (len(shape.follow), len(shape.guess)) == (VOCABULARY, VOCABULARY)
    assert set(shape.follow) == cycle and set(shape.guess) <= cycle
    on_cycle = [token for token in shape.cycle if shape.follow[token] != shape.guess[token]]
    assert on_cycle == list(shape.cycle[4::5])
    assert MODELS["made-dense"].follow == MODELS["made-dense"].guess


@pytest.mark.parametrize("wrong", [{"dims": 96}, {"dims": 32}, {"quant": "Q4_K"}, {"wrong_every": 0}])
def test_an_impossible_shape_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        replace(SMALL, **wrong)


def test_a_second_call_leaves_the_file_alone(tmp_path: Path) -> None:
    before = make_model(SMALL, tmp_path).stat()
    told: list[str] = []
    after = make_model(SMALL, tmp_path, progress=lambda share, what: told.append(what)).stat()
    assert (after.st_ino, after.st_mtime_ns, told) == (before.st_ino, before.st_mtime_ns, [])


def test_a_cut_or_foreign_file_is_made_anew(tmp_path: Path) -> None:
    path = make_model(SMALL, tmp_path)
    whole = path.read_bytes()
    other = make_model(replace(SMALL, wrong_every=3), tmp_path / "other").read_bytes()
    for spoiled in (whole[:-1], b"", b"x" * len(whole), other):
        path.write_bytes(spoiled)
        assert make_model(SMALL, tmp_path).read_bytes() == whole


def test_progress_rises_from_0_to_1(tmp_path: Path) -> None:
    told: list[tuple[float, str]] = []
    make_model(SMALL, tmp_path, progress=lambda share, what: told.append((share, what)))
    shares = [share for share, _ in told]
    assert (shares[0], shares[-1], shares) == (0.0, 1.0, sorted(shares))
    assert told[0][1] == "writing token_embd.weight"


def test_nothing_half_written_stays_after_a_failure(tmp_path: Path) -> None:
    def give_up(share: float, _what: str) -> None:
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_model(SMALL, tmp_path, progress=give_up)
    assert [entry for entry in os.listdir(tmp_path) if not entry.endswith(".lock")] == []


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, before[1]))
    try:
        with pytest.raises(BenchError, match=r"dense-wrong-5\.gguf could not be written"):
            make_model(SMALL, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [entry for entry in os.listdir(tmp_path) if not entry.endswith(".lock")] == []


def test_a_left_over_side_file_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / f".{SMALL.name}.gguf.part").write_bytes(b"left by a process that died")
    assert digest(make_model(SMALL, tmp_path)) == digest(make_model(SMALL, tmp_path / "clean"))


def test_a_folder_that_cannot_be_used_is_told_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(BenchError) as caught:
        make_model(SMALL, tmp_path / "file" / "models")
    assert caught.value.title == "The model could not be made"
    assert "dense-wrong-5.gguf could not be written: Not a directory." in caught.value.message
    assert "Nothing half-written was kept." in caught.value.hint


MAKE_AND_TELL = """
import hashlib, json, sys
from pathlib import Path
from core.embedded.models import make_model
from tests.engine.conftest import SHAPES
told = []
path = make_model(SHAPES["moe-wrong-17"], Path(sys.argv[1]), progress=lambda share, what: told.append(what))
print(json.dumps([hashlib.sha256(path.read_bytes()).hexdigest(), bool(told)]))
"""


def test_processes_at_once_make_it_once(tmp_path: Path) -> None:
    makers = [subprocess.Popen([sys.executable, "-c", MAKE_AND_TELL, str(tmp_path)], stdout=subprocess.PIPE, cwd=ROOT) for _ in range(3)]
    told = [json.loads(maker.communicate(timeout=120)[0]) for maker in makers]
    assert len({sha for sha, _ in told}) == 1
    assert [wrote for _, wrote in told].count(True) == 1
