"""Makes the two models of the embedded engine: small GGUF files with an MTP head whose acceptance is known beforehand.

The trunk's attention outputs and FFN down projections are zero, so the residual stream stays the token's embedding while
every multiplication and every byte read stays real. The output matrix sends each token to the next one on a fixed cycle
of printable characters (`follow`, f); the MTP head does the same, except where it shall be wrong (`guess`, g). Text and
accept counts are therefore computable without an engine: see `walk`.

    made-dense   all F32, bound by memory: verifying more tokens is nearly free, so drafts win
    made-moe     32 experts a layer, 2 used: each verified token reads other experts, so drafts lose although 9 of 10 are right
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from core.embedded.shape import CYCLE_TEXT, VOCABULARY, ModelShape, padded, tensors_of
from core.embedded.weights import SEED, encode
from core.errors import BenchError

if TYPE_CHECKING:
    import gguf

__all__ = ["CHAT_TEMPLATE", "MODELS", "ModelShape", "make_model"]

Progress = Callable[[float, str], None]

# Ends with the last character of the last message, so a request chooses where on the cycle the text starts.
CHAT_TEMPLATE = "{% for message in messages %}[{{ message['role'] }}] {{ message['content'] }}{% endfor %}"

MODELS: dict[str, ModelShape] = {
    "made-dense": ModelShape(
        name="made-dense", title="Made dense: head always right, drafts win", dims=512, layers=2, ffn=21504, expert_ffn=32, heads=8
    ),
    "made-moe": ModelShape(
        name="made-moe",
        title="Made MoE: head wrong at every 17th token, drafts lose",
        dims=512,
        layers=4,
        ffn=384,
        experts=32,
        expert_ffn=384,
        heads=8,
        quant="Q8_0",
        wrong_every=17,  # 92-94% accepted, falling with the draft length, and still a loss: acceptance alone decides nothing
    ),
}


def _tokenizer(writer: gguf.GGUFWriter) -> None:
    import gguf

    letters = [f"<0x{value:02X}>" for value in range(256)]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL]
    writer.add_tokenizer_model("llama")
    writer.add_token_list(["<unk>", "<s>", "</s>", *letters, "\u2581"])
    writer.add_token_scores([0.0] * VOCABULARY)
    writer.add_token_types([*kinds, *[gguf.TokenType.BYTE] * 256, gguf.TokenType.NORMAL])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(CHAT_TEMPLATE)


def _open_writer(shape: ModelShape, path: Path) -> gguf.GGUFWriter:
    """Write everything but the weights to `path`; the returned writer expects the tensors next, in file order."""
    import gguf  # half a second, and only whoever makes a model needs it

    writer = gguf.GGUFWriter(path, "glm4moe")
    writer.add_name(shape.name)
    writer.add_description(f"{shape.title}; wrong_every={shape.wrong_every}; seed={SEED}; {CYCLE_TEXT}")
    writer.add_file_type(gguf.LlamaFileType.ALL_F32 if shape.quant == "F32" else gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_block_count(shape.layers + 1)  # the MTP block counts
    writer.add_nextn_predict_layers(1)
    writer.add_leading_dense_block_count(0 if shape.is_moe else shape.layers)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.dims)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.heads)
    writer.add_key_length(shape.dims // shape.heads)
    writer.add_value_length(shape.dims // shape.heads)
    writer.add_rope_dimension_count(shape.dims // shape.heads // 2)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_expert_count(shape.experts or 2)
    writer.add_expert_used_count(shape.experts_used)
    writer.add_expert_shared_count(1)
    writer.add_expert_feed_forward_length(shape.expert_ffn)
    writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    writer.add_expert_weights_norm(True)
    writer.add_expert_weights_scale(1.0)
    _tokenizer(writer)
    for tensor in tensors_of(shape):
        kind = gguf.GGMLQuantizationType[tensor.quant]
        writer.add_tensor_info(tensor.name, tensor.shape, np.dtype(np.float32), tensor.nbytes, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    return writer


@contextmanager
def _only_one(folder: Path, name: str) -> Iterator[None]:
    """Hold the model's lock: a second process waits here and then finds the file made."""
    with open(folder / f".{name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _already_made(shape: ModelShape, target: Path, side: Path) -> bool:
    """Whether `target` has the very header just written to `side`, and the whole length that belongs to it."""
    header = side.read_bytes()
    if not target.is_file() or target.stat().st_size != padded(len(header)) + shape.size_bytes:
        return False
    with open(target, "rb") as made:
        return made.read(len(header)) == header


def _write_weights(shape: ModelShape, writer: gguf.GGUFWriter, progress: Progress) -> None:
    done, whole = 0, shape.size_bytes
    for tensor in tensors_of(shape):
        progress(done / whole, f"writing {tensor.name}")
        writer.write_tensor_data(encode(shape, tensor))
        done += tensor.padded_bytes
    progress(1.0, "flushing to disk")


def _write_file(shape: ModelShape, target: Path, side: Path, progress: Progress) -> None:
    writer = _open_writer(shape, side)
    try:
        stream = writer.fout[0]  # type: ignore[index]
        stream.flush()
        if _already_made(shape, target, side):
            side.unlink()
            return
        _write_weights(shape, writer, progress)
        stream.flush()
        os.fsync(stream.fileno())
        os.replace(side, target)  # readers see the old file or the whole new one, never a part
    finally:
        side.unlink(missing_ok=True)  # first: on a full disk, closing raises again
        writer.close()


def make_model(shape: ModelShape, folder: Path, *, progress: Progress = lambda share, what: None) -> Path:
    """Write `<folder>/<name>.gguf` (the same bytes every time) and return its path; at once if it is already there.

    `progress` is told the share done (0-1) and what is being written. Safe to call from several processes at once.
    Raises BenchError when the folder or file cannot be written; nothing half-written stays.
    """
    target = folder / f"{shape.name}.gguf"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _only_one(folder, shape.name):
            _write_file(shape, target, folder / f".{shape.name}.gguf.part", progress)
    except OSError as error:
        raise BenchError(
            f"{target.name} could not be written: {error.strerror or error}.",
            title="The model could not be made",
            hint=f"It needs {shape.size_bytes / 1e6:.0f} MB in a folder that can be written to. Nothing half-written was kept.",
        ) from error
    return target
